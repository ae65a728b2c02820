// Takes a picture of a page of the Temporal UI, also of one that keeps a request open, which chromium's own --screenshot
// would wait for without end. Needs Node 20 or later and chromium:
//
//   node --experimental-websocket deploy/demo/screenshot.mjs URL FILE.png [SECONDS]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [url, file, seconds = '8'] = process.argv.slice(2);
if (!url || !file) {
  console.error('give the URL of a page and a file: screenshot.mjs URL FILE.png [SECONDS]');
  process.exit(2);
}
const sleep = ms => new Promise(done => setTimeout(done, ms));
const profile = mkdtempSync(join(tmpdir(), 'screenshot-'));
const browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--window-size=1500,1700',
  '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], { stdio: 'ignore' });
browser.on('error', problem => { console.error(`chromium: ${problem.message}`); process.exit(1); });
try {
  const [port] = await read(join(profile, 'DevToolsActivePort'));
  const pages = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const socket = new WebSocket(pages.find(page => page.type === 'page').webSocketDebuggerUrl);
  await new Promise(done => { socket.onopen = done; });
  const answers = {};
  let id = 0;
  socket.onmessage = ({ data }) => { const answer = JSON.parse(data); answers[answer.id]?.(answer.result); };
  const call = (method, params = {}) => new Promise(done => { answers[++id] = done; socket.send(JSON.stringify({ id, method, params })); });
  await call('Page.enable');
  await call('Page.navigate', { url });
  await sleep(1000 * Number(seconds));
  const { data } = await call('Page.captureScreenshot', { format: 'png' });
  writeFileSync(file, Buffer.from(data, 'base64'));
} finally {
  browser.kill();
  await new Promise(done => browser.once('exit', done));
  rmSync(profile, { recursive: true, force: true });
}
process.exit(0);

// read waits for a file that the browser writes when it is ready.
async function read(path) {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      const lines = readFileSync(path, 'utf8').split('\n');
      if (lines.length > 1) return lines;
    } catch { /* not written yet */ }
    await sleep(100);
  }
  throw new Error('chromium did not start within 10 s');
}
