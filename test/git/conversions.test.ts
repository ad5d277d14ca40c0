/**
 * Repositories whose `.gitattributes` have git convert files on their way in: Git LFS and other filters, line endings,
 * encodings. Bytes are committed as they were reviewed, so what git would have stored otherwise is refused by name.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitTree } from '../../orchestrator/git/commit.js';
import { pushCommit } from '../../orchestrator/git/push.js';
import { snapshot } from '../../orchestrator/git/snapshot.js';
import { configuredFilters, readUserConfig } from '../../orchestrator/git/user-config.js';
import { AUTHOR, DATE, type Ticket, unwrap, type World, writeFiles, writeScript } from '../helpers/repo.js';
import { sceneMaker } from './ticket-copies.js';

const ATTRIBUTES = `*.bin filter=lfs diff=lfs merge=lfs -text
*.up filter=shout
*.lost filter=nowhere
*.txt text
*.auto text=auto
*.bat text eol=crlf
*.ps1 text working-tree-encoding=UTF-16
*.id ident
`;

/** What the clean filter of Git LFS does to contents, to pointers and to an empty file. */
const POINTER = `f=$(mktemp); cat > $f
test -s $f || exit 0
case "$(head -c 20 $f)" in
'version https://git-') cat $f;;
*) printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$(sha256sum < $f | cut -c 1-64)" "$(wc -c < $f)";;
esac; rm $f`;

const CONFIG = `[filter "lfs"]
	clean = sh ../lfs-clean
	smudge = cat
	required = true
[filter "shout"]
	clean = tr a-z A-Z
	smudge = cat
[core]
	autocrlf = true
`;

const begin = sceneMaker({
  files: { 'README.md': '# Sample\n' },
  arrange: (world) => {
    writeScript(join(world.dir, 'lfs-clean'), POINTER);
    appendFileSync(join(world.home, '.gitconfig'), CONFIG);
    writeFiles(world.user, {
      '.gitattributes': ATTRIBUTES,
      'a.bin': 'contents of a\n',
      'b.bin': 'contents of b\n',
      'gone.bin': 'contents that go\n',
      'old.up': 'quiet\n',
      'any.lost': 'x\n',
      'a.txt': 'one\r\ntwo\r\n',
      'a.id': '$Id$\n',
    });
    execFileSync('sh', ['-c', String.raw`printf '\377\376h\0i\0\n\0' > a.ps1`], { cwd: world.user });
    world.run(world.user, 'add', '--all');
    // Stored with CRLF before anybody declared it text.
    writeFiles(world.user, { 'legacy.txt': 'one\r\ntwo\r\n' });
    const legacy = world.run(world.user, 'hash-object', '-w', '--no-filters', 'legacy.txt');
    world.run(world.user, 'update-index', '--add', '--cacheinfo', `100644,${legacy},legacy.txt`);
    world.run(world.user, 'commit', '--quiet', '--message=Filters');
    world.run(world.user, 'push', '--quiet', 'origin', 'main');
  },
});

const take = (world: World, ticket: Ticket) =>
  snapshot({
    ...ticket,
    base: ticket.base.commit,
    filters: async () => configuredFilters(await readUserConfig(ticket.git, ticket.paths)),
  });

test('a working copy has the bytes that git stores, whatever the user has configured, and is clean', async () => {
  const { world, ticket } = await begin();
  const read = (path: string): string => readFileSync(join(ticket.tree, path), 'utf8');
  expect(read('a.bin')).toMatch(
    /^version https:\/\/git-lfs.github.com\/spec\/v1\noid sha256:[0-9a-f]{64}\nsize 14\n$/,
  );
  expect([read('old.up'), read('a.txt'), read('a.ps1'), read('a.id')]).toEqual([
    'QUIET\n',
    'one\ntwo\n',
    'hi\n',
    '$Id$\n',
  ]);
  expect(unwrap(await take(world, ticket)).records).toEqual([]);
  expect(world.run(ticket.tree, 'status', '--porcelain')).toBe('');
});

test('what git would have stored in another form is refused, each path with what is wrong and the way out', async () => {
  const { world, ticket } = await begin();
  const { tree } = ticket;
  const unknown = readFileSync(join(tree, 'a.bin'), 'utf8').replace(/size.*/, 'size 15');
  writeFiles(tree, {
    'a.bin': 'contents in place of a pointer\n',
    'b.bin': unknown,
    'new.bin': 'contents\n',
    '.gitattributes': `[attr]large filter=lfs\n${ATTRIBUTES}*.dat large\n`,
    'x.dat': 'contents\n',
    'old.up': 'quiet again\n',
    'a.txt': 'one\r\ntwo\r\n',
    'new.bat': 'echo\r\n',
  });
  execFileSync('sh', ['-c', String.raw`printf 'h\0o\0\n\0' > a.ps1; printf '\377\376h\0' > b.ps1`], {
    cwd: tree,
  });
  const refused = await take(world, ticket);
  expect(refused).toMatchObject({ ok: false, failure: { kind: 'evidence-refused' } });
  const { message = '', next = '' } = refused.ok ? {} : refused.failure;
  const contents =
    'is written with contents where `.gitattributes` declares Git LFS, of which git stores a pointer';
  const utf16 = 'is no UTF-8, which is what git stores of a file with the `working-tree-encoding` `UTF-16`';
  const crlf =
    'is written with CRLF line endings where `.gitattributes` declares text, of which git stores LF';
  expect(message.split('\n').slice(1)).toEqual([
    `\`a.bin\` ${contents}`,
    `\`a.ps1\` ${utf16}`,
    `\`a.txt\` ${crlf}`,
    `\`b.bin\` is a Git LFS pointer to contents that the base does not name: they are not uploaded from here`,
    `\`b.ps1\` ${utf16}`,
    `\`new.bat\` ${crlf}`,
    `\`new.bin\` ${contents}`,
    '`old.up` is changed where `.gitattributes` declares the filter `shout`, which your git runs and which is not run here',
    `\`x.dat\` ${contents}`,
  ]);
  expect(next).toMatch(/pointers of Git LFS back.*as UTF-8.*with LF line endings.*undo such changes/s);
});

test('the rest works, and a fresh checkout of what was pushed is clean under the same configuration', async () => {
  const { world, ticket } = await begin();
  const { tree } = ticket;
  cpSync(join(tree, 'a.bin'), join(tree, 'moved/copy.bin'));
  renameSync(join(tree, 'a.bin'), join(tree, 'b.bin'));
  rmSync(join(tree, 'gone.bin'));
  renameSync(join(tree, 'old.up'), join(tree, 'new.up'));
  writeFiles(tree, {
    'empty.bin': '',
    'raw/.gitattributes': '*.bin -filter\n',
    'raw/x.bin': 'contents\n',
    'any.lost': 'edited\n',
    'a.txt': 'one\ntwo\nthree\n',
    'new.bat': 'echo\n',
    'legacy.txt': 'one\r\ntwo\r\nthree\r\n',
    'a.ps1': 'hé\n',
    'new.auto': 'crlf\r\n',
    'README.md': 'edited\n',
  });
  const shot = unwrap(await take(world, ticket));
  const parents = [ticket.base.commit];
  const request = { ...ticket, tree: shot.treeId, parents, message: 'Work', author: AUTHOR, date: DATE };
  const commit = unwrap(await commitTree(request));
  const branch = 'orchestrate/320';
  unwrap(await pushCommit({ ...ticket, url: world.origin, commit, branch, protect: ['main'] }));
  world.run(world.dir, 'clone', '--quiet', '--branch', branch, world.origin, 'fresh');
  const fresh = join(world.dir, 'fresh');
  // As it was before: git would store it with LF.
  expect(world.run(fresh, 'status', '--porcelain')).toBe('M legacy.txt');
  expect(readFileSync(join(fresh, 'new.bat'), 'utf8')).toBe('echo\r\n');
  // A byte order mark, of either order.
  expect(new Set(readFileSync(join(fresh, 'a.ps1')).subarray(0, 2))).toEqual(new Set([0xfe, 0xff]));
});
