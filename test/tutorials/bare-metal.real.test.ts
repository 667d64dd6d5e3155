import { testTutorial } from '../harness/docs/tutorial.js';

testTutorial('bare-metal');
