// Opens pages that `bough export --to html` made in a real Chromium, and checks what a reader would: node tests/browser/page.mjs FOLDER
// FOLDER has tree.html (and tree.json: what must be found), chain.html, leaves.html and hostile-*.html. Prints one line for each check, and
// exits with 1 if one failed. SHOTS=FOLDER takes pictures. Talks to the browser by a pipe, so that it needs no package.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const folder = path.resolve(process.argv[2]);
const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'bough-page-'));
const browser = spawn(process.env.CHROMIUM ?? 'chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
	'--disable-background-networking', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
browser.on('exit', () => { for (const { bad } of waiting.values()) bad(new Error('the browser ended')); });
let next = 0, rest = '';
const waiting = new Map(), requests = [];
browser.stdio[4].setEncoding('utf8');
browser.stdio[4].on('data', data => {
	rest += data;
	for (let end; (end = rest.indexOf('\0')) >= 0; rest = rest.slice(end + 1)) {
		const message = JSON.parse(rest.slice(0, end));
		if (message.id) { const { good, bad } = waiting.get(message.id) ?? {}; if (!good) continue; waiting.delete(message.id); message.error ? bad(new Error(message.error.message)) : good(message.result); }
		else if (message.method === 'Network.requestWillBeSent' && !/^(file|data|blob|about):/.test(message.params.request.url)) requests.push(message.params.request.url);
	}
});
const send = (method, params = {}, sessionId) => new Promise((good, bad) => {
	const id = ++next;
	waiting.set(id, { good, bad });
	// A browser that hangs or ended is an answer, too.
	const late = setTimeout(() => bad(new Error(`no answer to ${method}`)), 120000);
	late.unref();
	
	browser.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
});
let session;
const call = (method, params) => send(method, params, session);
const pause = ms => new Promise(f => setTimeout(f, ms));
async function run(source) {
	const { result, exceptionDetails } = await call('Runtime.evaluate', { expression: `(async()=>{${source}})()`, awaitPromise: true, returnByValue: true });
	if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
	return result.value;
}
async function until(what, most = 30000) {
	for (const end = Date.now() + most; Date.now() < end; await pause(50)) {
		// While a page is left for another there is no document.
		try { if (await run(`return ${what}`)) return true; } catch { /* not yet */ }
	}
	return false;
}
async function open(name, hash = '') {
	await call('Page.navigate', { url: 'about:blank' });
	await call('Page.navigate', { url: `file://${folder}/${name}${hash}` });
	return until("document.readyState==='complete'&&document.documentElement.dataset.ready==='1'&&document.querySelectorAll('#items .item').length>0", 90000);
}
const size = (width, height) => call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
const key = async (key, text) => {
	await call('Input.dispatchKeyEvent', { type: 'keyDown', key, text });
	await call('Input.dispatchKeyEvent', { type: 'keyUp', key });
	await pause(150);
};
async function shot(name) {
	if (!process.env.SHOTS) return;
	const { data } = await call('Page.captureScreenshot', { format: 'png' });
	fs.writeFileSync(path.join(process.env.SHOTS, name + '.png'), Buffer.from(data, 'base64'));
}
let failed = 0;
function check(name, is, more = '') {
	console.log(is ? `ok ${name}` : `FAILED ${name} ${JSON.stringify(more)}`);
	if (!is) failed++;
}

try {
	const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
	session = (await send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
	for (const domain of ['Page', 'Runtime', 'Network', 'Accessibility']) await call(domain + '.enable');
	const wanted = JSON.parse(fs.readFileSync(path.join(folder, 'tree.json')));
	const rowsOf = "[...document.querySelectorAll('#rows .row')]";
	const said = "document.getElementById('items').innerText";

	await size(1400, 900);
	check('opens', await open('tree.html'));
	await shot('wide-light');
	check('the sidebar has all rows', await run(`return ${rowsOf}.length`) === wanted.rows, await run(`return ${rowsOf}.map(r=>r.innerText)`));
	check('HEAD is marked', await run(`return ${rowsOf}.filter(r=>r.querySelector('.head')).length`) === 1);
	check('the label is shown', (await run(`return document.getElementById('rows').innerText`)).includes(wanted.label));
	check('the path to HEAD is read', (await run(`return ${said}`)).includes(wanted.onPath) && !(await run(`return ${said}`)).includes(wanted.aside));
	check('no text is markup', await run("return document.querySelectorAll('main script,main iframe,main object,main form[action]').length") === 0);

	check('rows have no signs of Markdown', await run(`const r=${rowsOf}.map(r=>r.innerText.trim());return r.some(r=>r.endsWith('Write a parser for x'))&&r.some(r=>r.includes('Done. The parser has 41 tests.'))&&r.some(r=>r.includes('generator? • one • two a · b 1 · 2 fn main() {}'))`), await run(`return ${rowsOf}.map(r=>r.innerText)`));
	check('nor has the title', await run('return document.title+document.querySelector("h1").firstChild.data') === 'Write a parser for x'.repeat(2), await run('return document.title'));
	await run(`${rowsOf}.find(r=>r.innerText.includes(${JSON.stringify(wanted.asideRow)})).click()`);
	check('a click shows the path of an entry', await until(`${said}.includes(${JSON.stringify(wanted.aside)})`, 5000), await run(`return ${said}`));
	check('the path is marked', await run(`return ${rowsOf}.filter(r=>r.classList.contains('path')).length`) === wanted.asidePath, await run(`return ${rowsOf}.filter(r=>r.classList.contains('path')).map(r=>r.innerText)`));
	const hash = await run('return location.hash');
	check('the address names the entry', hash.length > 1, hash);
	await run("document.getElementById('head').click()");
	check('reset to HEAD', await until(`!${said}.includes(${JSON.stringify(wanted.aside)})&&${said}.includes(${JSON.stringify(wanted.onPath)})`, 5000));
	await open('tree.html', hash);
	check('a link opens its entry', await until(`${said}.includes(${JSON.stringify(wanted.aside)})`, 5000));
	check('a link to nothing opens HEAD', await open('tree.html', '#%E0%A4%A') && (await run(`return ${said}`)).includes(wanted.onPath));

	const mode = async n => { await run(`const m=document.getElementById('mode');m.value='${n}';m.onchange()`); return run(`return ${rowsOf}.length`); };
	check('filter: user only', await mode(2) === wanted.users, await run(`return ${rowsOf}.map(r=>r.innerText)`));
	check('filter: labeled only', await mode(3) === 1);
	check('filter: all', await mode(4) >= wanted.rows);
	await mode(0);
	for (const [word, count] of Object.entries(wanted.words)) {
		await run(`const f=document.getElementById('find');f.value=${JSON.stringify(word)};f.oninput()`);
		check(`search finds ${word.slice(0, 12)}`, await until(`${rowsOf}.length===${count}&&/found/.test(document.getElementById('count').textContent)`, 8000), await run(`return ${rowsOf}.map(r=>r.innerText)`));
	}
	await run("const f=document.getElementById('find');f.value='';f.oninput()");
	check('all rows are back', await until(`${rowsOf}.length===${wanted.rows}`, 5000));
	await run(`document.querySelector('#rows .row[aria-expanded=true] .fold').click()`);
	check('a fold hides rows', await run(`return ${rowsOf}.length`) < wanted.rows);
	await run(`document.querySelector('#rows .row[aria-expanded=false] .fold').click()`);
	check('an unfold shows them', await run(`return ${rowsOf}.length`) === wanted.rows);

	await run("document.getElementById('head').click();document.activeElement.blur()");
	await run("document.getElementById('conv').scrollTop=0;");
	await pause(300);
	const top = 'groupOf(target)';
	await run("aim(group(0)[0])");
	const before = await run(`return ${top}`);
	await key('j', 'j');
	check('j goes to the next entry', await run(`return ${top}`) === before + 1, [before, await run(`return ${top}`)]);
	await key('k', 'k');
	check('k goes back', await run(`return ${top}`) === before);
	await run("document.getElementById('tree').focus()");
	await key('ArrowUp');
	check('arrows move in the tree', await run(`return ${rowsOf}.find(r=>r.classList.contains('sel')).getAttribute('aria-selected')`) === 'true');
	await run('document.activeElement.blur()');
	await key('?', '?');
	check('? shows the keys', await run("return document.getElementById('help').open"));
	await run("document.getElementById('help').close()");

	const { nodes } = await call('Accessibility.getFullAXTree');
	const roles = nodes.filter(n => !n.ignored).map(n => n.role?.value);
	for (const role of ['banner', 'navigation', 'main', 'tree', 'treeitem', 'article', 'searchbox', 'heading']) check(`a screen reader meets a ${role}`, roles.includes(role));
	const nameless = nodes.filter(n => !n.ignored && ['button', 'combobox', 'searchbox', 'tree', 'link'].includes(n.role?.value) && !n.name?.value);
	check('all controls have a name', nameless.length === 0, nameless.map(n => n.role.value));

	const outlined = await mode(5);
	check('the outline has the prompts of the path', outlined === wanted.prompts, outlined);
	await run(`${rowsOf}.at(-1).click()`);
	check('the outline goes to a prompt', await until(`${said}.includes(${JSON.stringify(wanted.onPath)})`, 5000) && (await run(`return ${said}`)).includes(wanted.onPath));
	await mode(0);
	await run("document.getElementById('head').click()");
	await run("document.activeElement.blur()");
	await key('m', 'm');
	check('m shows what the model is sent', await until("document.getElementById('ctx').getAttribute('aria-pressed')==='true'", 3000) && (await run('return D.ctx.length')) === wanted.sent, await run('return D.ctx'));
	check('what is made up is shown', await until(`conv.nodes.size>0&&${said}.includes(${JSON.stringify(wanted.onPath)})`, 5000), await run(`return ${said}`));
	await key('m', 'm');
	await run("document.getElementById('over').open=true;");
	await pause(200);
	const facts = await run("return document.getElementById('over').innerText");
	check('the overview has tools and files', wanted.facts.every(fact => facts.includes(fact)), facts);
	check('the chart has a bar for each turn', await run("return document.querySelectorAll('#chart rect').length") === wanted.prompts);
	await run("const b=document.getElementById('by');b.value='time';b.onchange();document.getElementById('over').open=false");

	check('a call has its result', await run("const d=[...document.querySelectorAll('details.box')].find(d=>d.querySelector('summary').innerText.includes(" + JSON.stringify(wanted.call) + "));if(!d)return false;d.open=true;await new Promise(f=>setTimeout(f,300));return d.innerText.includes(" + JSON.stringify(wanted.result) + ")"));
	check('an image is shown', await run("for(let n=0;n<40;n++){const i=document.querySelector('#items img');if(i&&i.naturalWidth>0)return true;await new Promise(f=>setTimeout(f,50))}return false"));

	for (const [name, width, height] of [['middle', 800, 900], ['narrow', 390, 800]]) {
		await size(width, height);
		await open('tree.html');
		await pause(300);
		await shot(name + '-light');
		check(`nothing is wider than ${width} px`, await run('return document.documentElement.scrollWidth<=innerWidth'), await run('return document.documentElement.scrollWidth'));
	}
	check('a narrow screen hides the tree', await run("return getComputedStyle(document.getElementById('side')).display") === 'none');
	await run("document.getElementById('show').click()");
	check('a button shows it', await run("return getComputedStyle(document.getElementById('side')).display") === 'flex' && await run(`return ${rowsOf}.length`) > 3);
	await shot('narrow-tree');
	await run(`${rowsOf}[2].click()`);
	check('a choice hides it again', await run("return getComputedStyle(document.getElementById('side')).display") === 'none');
	await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
	for (const [name, width] of [['narrow', 390], ['wide', 1400]]) { await size(width, 900); await open('tree.html'); await pause(300); await shot(name + '-dark'); }
	const color = await run('return getComputedStyle(document.body).backgroundColor');
	check('dark is dark', /rgb\((\d+)/.exec(color)[1] < 60, color);
	await call('Emulation.setEmulatedMedia', { media: 'print', features: [] });
	check('print leaves the controls out', await run("return getComputedStyle(document.getElementById('side')).display") === 'none');
	await until("document.getElementById('print').children.length>2", 3000);
	const printed = await run("return document.getElementById('print').innerText");
	check('print has the whole path, unfolded', [wanted.onPath, wanted.result, wanted.thought].every(text => printed.includes(text)) && !printed.includes(wanted.aside), printed);
	await call('Emulation.setEmulatedMedia', { media: '', features: [] });
	await pause(200);
	check('after print nothing is left of it', await run("return document.getElementById('print').children.length") === 0);
	const pdf = await call('Page.printToPDF', {});
	check('it is printed', pdf.data.length > 1000);
	check('inflating at once gives the same', await run("for(const e of chunkEls){if(asText(unpack(decoded(e)))!==asText(await inflate(e)))return false}return true"));
	await run('window.DecompressionStream=undefined');
	check('a browser without streams inflates, too', await run("return asText(await inflate(chunkEls[0])).length>100"));

	await call('Page.navigate', { url: `file://${folder}/site/index.html` });
	await until("document.readyState==='complete'", 5000);
	const hrefs = await run("return [...document.querySelectorAll('a')].map(a=>a.getAttribute('href'))");
	check('the index lists all sessions', hrefs.length === wanted.sessions, hrefs);
	check('the index is a tree', await run("return document.querySelectorAll('li li').length") === wanted.forks);
	for (const href of hrefs) {
		check(`the index leads to ${href}`, await open('site/' + href));
		check(`${href} leads back`, await run("return document.getElementById('all').getAttribute('href')") === 'index.html');
	}
	await open('site/' + wanted.child);
	check('a fork has a link to its origin', await until("[...document.querySelectorAll('a.go')].some(a=>a.getAttribute('href').startsWith(" + JSON.stringify(wanted.parent) + "))", 3000), await run("return JSON.stringify(D.link)"));
	await run("document.querySelector('a.go').click()");
	check('the link leads to the entry', await until("location.hash.length>1&&document.documentElement.dataset.ready==='1'&&document.querySelectorAll('a.go').length>0", 5000), await run('return location.href'));

	for (const name of ['chain.html', 'leaves.html'].filter(name => fs.existsSync(path.join(folder, name)))) {
		check(`${name} opens`, await open(name));
		check(`${name} has few nodes`, await run("return document.querySelectorAll('*').length") < 2000, await run("return document.querySelectorAll('*').length"));
		await run("const c=document.getElementById('conv');c.scrollTop=c.scrollHeight");
		await pause(500);
		check(`${name} scrolls to its end`, await run('return conv.nodes.has(view.n-1)'), await run('return [conv.first,view.n,[...conv.nodes.keys()]]'));
		await run("const t=document.getElementById('tree');t.scrollTop=t.scrollHeight");
		await pause(300);
		check(`${name}: the tree scrolls to its end`, await run(`return +${rowsOf}.at(-1).getAttribute('aria-posinset')===rows.e.length`));
	}
	let linked = 0;
	for (const name of fs.readdirSync(folder, { recursive: true }).filter(name => /^hostile.*\.html$/.test(name))) {
		requests.length = 0;
		if (/plain|index/.test(name)) {
			await call('Page.navigate', { url: `file://${folder}/${name}` });
			await pause(500);
			if (/-ids-/.test(name)) {
				const [tried, lost] = await run("const all=[...document.querySelectorAll('article')].slice(0,200),lost=[];for(const a of all){location.hash='#'+encodeURIComponent(a.id);if(document.querySelector(':target')?.id!==a.id)lost.push(a.id.slice(0,200))}return [all.length,lost]");
				check(`${name}: links open their entries`, !lost.length, lost);
				linked += tried;
			}
		}
		else {
			check(`${name} opens`, await open(name));
			if (/-ids/.test(name)) {
				// Each entry is found by its link, or has none.
				const [links, lost] = await run("let links=0;const lost=[];for(const i of Array.from(D.order).slice(0,200)){choose(i,true);const a=anchor(i,'#');if(!a)continue;links++;choose(D.order[0],false);location.hash=a.hash;if(!fromHash()||D.id(target)!==D.id(i))lost.push(D.id(i).slice(0,200))}return [links,lost]");
				check(`${name}: links open their entries`, links > 0 && !lost.length, [links, lost]);
			}
			await run("document.getElementById('mode').value='4';document.getElementById('mode').onchange()");
			await run("for(const i of Array.from(D.order).slice(0,400)){choose(i,true);for(const d of document.querySelectorAll('#items details'))d.open=true;await new Promise(f=>setTimeout(f,5))}print(true);await new Promise(f=>setTimeout(f,50));print(false);await toContext();await new Promise(f=>setTimeout(f,50))");
		}
		await run("for(const e of [...document.querySelectorAll('summary,button')].slice(0,300)){try{e.click()}catch{}await new Promise(f=>setTimeout(f,3))}");
		await pause(300);
		const ran = await run("return window.PWN??''");
		const links = await run("return [...document.querySelectorAll('[href],[src],[action],[srcdoc]')].map(e=>e.getAttribute('href')??e.getAttribute('src')??e.getAttribute('action')??'srcdoc').filter(u=>!/^(#|https?:|mailto:|blob:|[\\w.-]+\\.html(#|$))/i.test(u))");
		check(`${name}: nothing runs, links or loads`, !ran && !links.length && !requests.length, [ran, links, requests]);
	}
	check('links of many plain pages were tried', linked > 50, linked);
	check('no page asked the network', requests.length === 0, requests);
} catch (error) {
	check('no error', false, String(error.stack ?? error));
}
await Promise.race([send('Browser.close').catch(() => {}), pause(3000)]);
browser.kill('SIGKILL');
await pause(200);
fs.rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
process.exit(failed ? 1 : 0);
