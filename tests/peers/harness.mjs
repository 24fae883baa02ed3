// What the peers share: checks that are counted, processes of the programs under test, and temporary places.
// Every wait has a deadline; only processes that were started here are signalled. What a failed check leaves behind
// is kept and named.
import {spawn} from 'node:child_process';
import http from 'node:http';
import {mkdtemp, mkdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const HANG_MS = 120_000; // only a hang comes near it
const OUTPUT_MAX = 64 << 20;

const counts = {passed: 0, failed: 0, skipped: 0};

// The folder of the programs under test; tests/peers/run sets it.
export function program(name) {
    const folder = process.env.PEERS_BUILD;
    if (!folder)
        throw new Error('PEERS_BUILD names no folder; use tests/peers/run');
    return join(folder, name);
}

export function within(promise, what, milliseconds = HANG_MS) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`waited ${milliseconds} ms in vain: ${what}`)), milliseconds);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Runs one check and counts it. A name states what holds when it passes.
export async function check(name, body) {
    try {
        await within(body(), name, 2 * HANG_MS);
        counts.passed++;
        console.log(`passed   ${name}`);
    } catch (error) {
        counts.failed++;
        console.log(`FAILED   ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
    }
}

export function skip(name, why) {
    counts.skipped++;
    console.log(`skipped  ${name}: ${why}`);
}

// The last line of a peer, which tests/peers/run adds up.
export function finish() {
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    process.exit(counts.failed > 0 ? 1 : 0);
}

// The error of a call that must fail, checked for its class.
export async function failure(kind, call) {
    try {
        await call();
    } catch (error) {
        if (error.constructor.name !== kind.name)
            throw new Error(`expected ${kind.name}, got ${error.constructor.name}: ${error}`);
        return error;
    }
    throw new Error(`no ${kind.name} was thrown`);
}

// Waits for the end of a process: {code, signal, stdout, stderr, hung}. One that does not end is killed.
export function ended(child, milliseconds = HANG_MS) {
    const chunks = {stdout: [], stderr: []};
    const length = {stdout: 0, stderr: 0};
    let hung = false;
    for (const name of ['stdout', 'stderr']) {
        child[name]?.on('data', chunk => {
            length[name] += chunk.length;
            if (length[name] <= OUTPUT_MAX)
                chunks[name].push(chunk);
            else
                child.kill('SIGKILL');
        });
    }
    const timer = setTimeout(() => {
        hung = true;
        child.kill('SIGKILL');
    }, milliseconds);
    return new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (code, signal) => {
            clearTimeout(timer);
            const text = name => Buffer.concat(chunks[name]).toString('utf8');
            resolve({code, signal, hung, stdout: text('stdout'), stderr: text('stderr')});
        });
    });
}

// A temporary place: `files` (the working directory), `store`, and a home that holds nothing of the user's. `config` is text in
// YAML (JSON is YAML too).
export class Workspace {
    static async create(files = {}, config = undefined) {
        const space = new Workspace();
        space.root = await mkdtemp(join(tmpdir(), 'cadre-peer-'));
        space.files = join(space.root, 'files');
        space.store = join(space.root, 'cadre.db');
        await mkdir(space.files);
        await mkdir(join(space.root, 'home'));
        for (const [name, content] of Object.entries(files))
            await writeFile(join(space.files, name), content);
        const inherited = Object.entries(process.env)
            .filter(([name]) => !/_API_KEY$|^XDG_|^CADRE_|_proxy$/i.test(name));
        space.environment = {...Object.fromEntries(inherited), HOME: join(space.root, 'home'), LC_ALL: 'C.UTF-8', NO_PROXY: '*'};
        if (config !== undefined) {
            space.environment.CADRE_CONFIG = join(space.root, 'cadre.yaml');
            await writeFile(space.environment.CADRE_CONFIG, config);
        }
        return space;
    }

    // `cadre COMMAND …` on this store, in `files`, to its end.
    cadre(command, args, {environment = {}, milliseconds = HANG_MS} = {}) {
        const child = spawn(program('cadre'), [command, '--store', this.store, ...args], {
            cwd: this.files, env: {...this.environment, ...environment}, stdio: ['ignore', 'pipe', 'pipe']});
        return ended(child, milliseconds);
    }

    remove() {
        return rm(this.root, {recursive: true, force: true});
    }
}

// cadre-scripted with a script (docs/scripted-model.md).
export class Scripted {
    static async start(script, {key} = {}) {
        const server = new Scripted();
        server.root = await mkdtemp(join(tmpdir(), 'cadre-peer-'));
        const file = join(server.root, 'script.json');
        await writeFile(file, JSON.stringify(script));
        const args = ['--script', file, '--until-eof', ...(key === undefined ? [] : ['--key', key])];
        server.child = spawn(program('cadre-scripted'), args, {stdio: ['pipe', 'pipe', 'pipe']});
        server.end = ended(server.child, 10 * HANG_MS);
        const first = new Promise((resolve, reject) => {
            let text = '';
            server.child.stdout.on('data', chunk => {
                text += chunk;
                const found = /listening on (\S+)\n/.exec(text);
                if (found)
                    resolve(found[1]);
            });
            server.end.then(end => reject(new Error(`cadre-scripted did not start: ${end.stderr}`)), reject);
        });
        server.url = await within(first, 'cadre-scripted listens');
        return server;
    }

    async stats() {
        const answer = await fetch(this.url.replace(/\/v1$/, '/_stats'), {signal: AbortSignal.timeout(HANG_MS)});
        return answer.json();
    }

    // Waits until no request is under way.
    async idle() {
        for (let left = HANG_MS; left > 0; left -= 10) {
            const stats = await this.stats();
            if (stats.in_flight === 0)
                return stats;
            await new Promise(resolve => setTimeout(resolve, 10));
        }
        throw new Error('cadre-scripted still has requests under way');
    }

    // Ends the server, which must end well: a sanitizer's report is an exit code other than 0.
    async stop() {
        this.child.stdin.end();
        const end = await this.end;
        await rm(this.root, {recursive: true, force: true});
        if (end.code !== 0)
            throw new Error(`cadre-scripted ended with ${end.code ?? end.signal}\n${end.stderr}`);
    }
}

// Passes requests on to a server and keeps each: {path, headers, body, status}. The body is the parsed JSON.
export class Recorder {
    // `headers` are added to every answer.
    static async start(target, headers = {}) {
        const recorder = new Recorder();
        recorder.requests = [];
        const {hostname, port} = new URL(target);
        recorder.server = http.createServer((request, response) => {
            const chunks = [];
            request.on('data', chunk => chunks.push(chunk));
            request.on('end', () => {
                const data = Buffer.concat(chunks);
                const kept = {path: request.url, headers: request.headers};
                if (request.method === 'POST')
                    recorder.requests.push(Object.assign(kept, {body: JSON.parse(data)}));
                const onward = http.request({hostname, port, path: request.url, method: request.method,
                                             headers: request.headers}, answer => {
                    kept.status = answer.statusCode;
                    response.writeHead(answer.statusCode, {...answer.headers, ...headers});
                    answer.pipe(response);
                    answer.on('error', () => response.destroy());
                });
                onward.on('error', () => response.destroy());
                response.on('close', () => onward.destroy());
                onward.end(data);
            });
        });
        await new Promise(resolve => recorder.server.listen(0, '127.0.0.1', resolve));
        recorder.url = `http://127.0.0.1:${recorder.server.address().port}/v1`;
        return recorder;
    }

    stop() {
        this.server.closeAllConnections();
        return new Promise(resolve => this.server.close(resolve));
    }
}
