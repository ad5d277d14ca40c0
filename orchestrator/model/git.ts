/** Absolute facts about the repository that a command was started in. No git process is needed to find them. */
export interface RepositoryPaths {
  /** Root of the checkout that contains the start folder (a linked worktree has its own). */
  readonly root: string;
  /** The common git directory: the one of the main worktree. */
  readonly gitDir: string;
  /** Root of the main worktree, where `.orchestrate` lives; equals `root` outside linked worktrees. */
  readonly mainRoot: string;
}

export interface RawRecord {
  readonly status: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly oldId: string;
  readonly newId: string;
  readonly path: string;
}
