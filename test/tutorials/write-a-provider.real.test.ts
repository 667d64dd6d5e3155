import { testTutorial } from '../harness/docs/tutorial.js';

testTutorial('write-a-provider');
