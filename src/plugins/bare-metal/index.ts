export { ClaimingProvider } from './claiming-provider.js';
export { ipmiSchema, ipmitool } from './ipmitool.js';
export { RealMachines } from './real-machines.js';
export { accountFaults, type RealMachine } from './machine-fields.js';
export type { RealMachineFields } from './field-types.js';
export {
  PowerDriver,
  powerLimitsOf,
  type PowerControls,
  type PowerLimits,
  type CommandResult,
} from './power-driver.js';
export { programExits, runCommand } from './run-command.js';
export { ControllerLogin } from './refused-logins.js';
