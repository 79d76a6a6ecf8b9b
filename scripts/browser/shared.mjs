// Starts a browser and serves a profile to it, for the scripts that drive one.
// It must never leave a server running that was asked to end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';

export const launched = (playwright, chromium) =>
  createRequire(import.meta.url)(playwright).chromium.launch({ executablePath: chromium, args: ['--no-sandbox'] });

// The address at which `vouch view` serves a profile to a local front-end, and how to end it. The
// address is its first line.
export async function served(vouch, profile, ui) {
  const view = spawn(vouch, ['view', profile, '--no-open', '--ui', ui, '--idle', '5'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const first = once(view.stdout, 'data').then(([printed]) => printed.toString().split('\n')[0]);
  const over = once(view, 'exit').then(() => { throw new Error(`vouch view ends at once: ${profile}`); });
  return { address: await Promise.race([first, over]), end: () => view.kill() };
}
