// Removes what builds made: the lab build names its files by hash and leaves the old ones behind.
import { rmSync } from 'node:fs';

for (const folder of ['lib', '../reflect_lab/labextension', '../reflect_lab/static']) {
  rmSync(new URL(folder, import.meta.url), { recursive: true, force: true });
}
rmSync(new URL('tsconfig.tsbuildinfo', import.meta.url), { force: true });
