import { testTutorial } from '../harness/docs/tutorial.js';

testTutorial('your-own-service');
