/** Name of the program that is every worker; it is looked up on the PATH, as agents are. */
export const AGENT = 'attack-agent';

/** A bare repository that nobody has any business with, in the folder of an arena. */
export const DECOY = 'decoy.git';

/** In the environment of the orchestrator, and nowhere else. */
export const SECRET_VARIABLE = 'ATTACK_SECRET';
