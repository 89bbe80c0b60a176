/** Rules that the sources keep, read from the files themselves. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const FILES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter(name => /\.tsx?$/.test(name))
  .map(name => ({ name, text: readFileSync(join('src', name), 'utf8') }));

test('nothing turns a string into markup or code', () => {
  assert.ok(FILES.length > 15);
  const forbidden =
    /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function/;
  assert.deepEqual(FILES.filter(file => forbidden.test(file.text)).map(file => file.name), []);
});

test('nothing in the sources or styles names a place to fetch from', () => {
  const remote = /https?:\/\/|\bfetch\(|XMLHttpRequest|WebSocket|<(img|a|iframe|link|script)\b/;
  const css = { name: 'run.css', text: readFileSync('style/run.css', 'utf8') };
  assert.deepEqual([...FILES, css].filter(file => remote.test(file.text)).map(file => file.name), []);
});

test('the view knows no host and no Jupyter, and hosts do not know each other', () => {
  for (const { name, text } of FILES) {
    const imports = [...text.matchAll(/from '([^']+)'/g)].map(match => match[1] ?? '');
    if (name.startsWith('view') || name.startsWith('run')) {
      assert.deepEqual(imports.filter(path => /^@|hosts/.test(path)), [], name);
    }
    if (name.startsWith('hosts')) {
      assert.deepEqual(imports.filter(path => path.startsWith('./')), [], name);
    }
  }
});

test('no two files differ only in case', () => {
  const stems = FILES.map(file => file.name.replace(/\.tsx?$/, '').toLowerCase());
  assert.equal(new Set(stems).size, stems.length);
});

test('a file has one subject: none is longer than 300 lines but the generated one', () => {
  const long = FILES.filter(file => file.text.split('\n').length > 300 && !file.name.endsWith('types.ts'));
  assert.deepEqual(long.map(file => file.name), []);
});
