import { testTutorial } from '../harness/docs/tutorial.js';

testTutorial('own-machines');
