/** Stands for the account, hardware and base image of a recipe that begins with an existing node. */
export const accountOfNode = 'of-the-node';
