/** The parts of a machine that every program may need, and the few in them that none may see. */
import { accessSync, constants, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { isWithin } from './sandbox-paths.js';
import type { Entry } from './sandbox-mounts.js';

/** Programs, libraries and settings of the machine. What is no folder here is left out. */
const FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/snap',
  '/nix/store',
  '/nix/var/nix/profiles',
  '/run/current-system',
  '/gnu/store',
  '/home/linuxbrew/.linuxbrew',
];

/** Single files that may be links out of `/etc`. */
const FILES = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/localtime',
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
];

/** Readable for root only, as a rule: who starts us as root would hand them over. */
const SECRETS = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/security/opasswd',
  '/etc/ssl/private',
  '/etc/krb5.keytab',
  '/etc/wireguard',
  '/etc/kubernetes',
  '/etc/rancher',
  '/etc/NetworkManager/system-connections',
];

const HOST_KEY = /^ssh_host_.*_key$/;

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

const hostKeys = (): readonly string[] => {
  try {
    return readdirSync('/etc/ssh')
      .filter((name) => HOST_KEY.test(name))
      .map((name) => join('/etc/ssh', name));
  } catch {
    return [];
  }
};

const named = (env: Readonly<Record<string, string>>, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => {
    const path = env[name];
    return path !== undefined && isAbsolute(path) ? [path] : [];
  });

/** Empty folders of its own: they exist inside whether or not they do outside. */
const scratchOf = (home: string, env: Readonly<Record<string, string>>): readonly string[] => {
  const base = ['/tmp', '/var/tmp', home, ...named(env, ['HOME', 'TMPDIR'])];
  const user = Object.keys(env).filter((name) => /^XDG_[A-Z]+_(?:HOME|DIR)$/.test(name));
  // What lies in an empty home is made by whoever wants it.
  return [...base, ...named(env, user).filter((path) => !base.some((folder) => isWithin(path, folder)))];
};

const as = (kind: Entry['kind'], paths: readonly string[]): readonly Entry[] =>
  paths.map((path) => ({ path, kind }));

/** What every sandbox has. Source of the folders: hier(7), file-hierarchy(7). */
export const systemEntries = (home: string, env: Readonly<Record<string, string>>): readonly Entry[] => [
  ...as('system', [...FOLDERS, ...FILES]),
  ...as('scratch', scratchOf(home, env)),
  ...as('hidden', [...SECRETS, ...hostKeys()].filter(isReadable)),
];
