// Bundles each test file (the sources are TypeScript with extensionless imports) and runs them with Node's own runner.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
// Within the package, so that a bundle's own imports are found.
const out = mkdtempSync(join(here, '..', 'node_modules', '.unit-tests-'));
try {
  await build({
    entryPoints: readdirSync(here).filter(name => name.endsWith('.test.ts')).map(name => join(here, name)),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'inline',
    logLevel: 'warning'
  });
  const files = readdirSync(out).map(name => join(out, name));
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', '--test-reporter=spec', ...files], {
    cwd: join(here, '..'),
    stdio: 'inherit'
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
