// The page: an index of all entries, and their bodies in chunks that are inflated when they are shown.
const $ = id => document.getElementById(id);
const KINDS = ['user', 'assistant', 'tool', 'system', 'summary', 'compaction', 'label', 'setting', 'custom', 'attachment', 'progress', 'header', 'other'];
const NAMES = ['User', 'Assistant', 'Tool result', 'System', 'Branch summary', 'Compaction', 'Label', 'Setting', 'Extension', 'Attachment', 'Progress', 'Session', 'Note'];
// The roles of the programs that are spelled otherwise here.
const ROLES = { user: 'User', assistant: 'Assistant', tool: 'Tool result', toolResult: 'Tool result', system: 'System', custom: 'Extension' };
// Bits of the mask of an entry, after those of the five filters.
const USER = 4, TALK = 32, FAILED = 64;
const TOOL = 2, FOLD_AT = 4000, SHOW_AT = 24000, TALL = 6e6, PRINT_AT = 3e7, OUTLINE = 5;
const number = new Intl.NumberFormat();
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const bytes = n => n < 1000 ? n + ' B' : n < 1e6 ? (n / 1e3).toFixed(1) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
const money = n => '$' + n.toFixed(n < 1 ? 3 : 2);
const many = (n, one, more) => number.format(n) + ' ' + (n === 1 ? one : more);
const lasted = ms => ms < 6e4 ? Math.round(ms / 1e3) + ' s' : ms < 36e5 ? Math.round(ms / 6e4) + ' min' : (ms / 36e5).toFixed(1) + ' h';
let D, N, chunkEls, imageEls;
// The shown entry at or above HEAD: in the tree, and in the conversation.
let headRow = -1, headTalk = -1;

const stored = name => document.querySelectorAll(`script[type="application/x-bough-${name}"]`);
function decoded(node) {
	if (Uint8Array.fromBase64) return Uint8Array.fromBase64(node.textContent);
	const raw = atob(node.textContent), buf = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) buf[i] = raw.charCodeAt(i);
	return buf;
}
const asText = buf => new TextDecoder().decode(buf);
async function inflate(node) {
	if (typeof DecompressionStream === 'undefined') return unpack(decoded(node));
	return new Uint8Array(await new Response(new Blob([decoded(node)]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer());
}
// Texts in one string, a line each: 5 million strings of their own would take too much memory.
function texts(all) {
	const ends = new Uint32Array(N + 1);
	for (let i = 0; i < N; i++) ends[i + 1] = all.indexOf('\n', ends[i]) + 1;
	const get = i => all.slice(ends[i], ends[i + 1] - 1);
	get.find = wanted => {
		const at = all.startsWith(wanted + '\n') ? 0 : all.indexOf('\n' + wanted + '\n') + 1, i = lowest(ends, N, at);
		return N && get(i) === wanted ? i : -1;
	};
	return get;
}
// The last place of a sorted list whose value is not above the one that is wanted.
function lowest(list, n, wanted) {
	let a = 0, b = n - 1;
	while (a < b) { const m = (a + b + 1) >> 1; if (list[m] <= wanted) a = m; else b = m - 1; }
	return a;
}
// The last chunks that were read.
const chunks = new Map();
const rawChunk = async n => asText(await inflate(chunkEls[n]));
function chunk(n) {
	if (!chunks.has(n)) {
		chunks.set(n, rawChunk(n).then(JSON.parse));
		if (chunks.size > 24) chunks.delete(chunks.keys().next().value);
	}
	return chunks.get(n);
}
const chunkOf = i => lowest(D.chunk, D.chunk.length, i);
const body = async i => { const c = chunkOf(i); return (await chunk(c))[i - D.chunk[c]]; };
let lastChunk = -1, lastBodies;
function bodyNow(i) {
	const c = chunkOf(i);
	if (c !== lastChunk) { lastBodies = JSON.parse(asText(unpack(decoded(chunkEls[c])))); lastChunk = c; }
	return lastBodies[i - D.chunk[c]];
}

// Rows of the tree: entries of the order that the filter and the search keep; hidden ones hand their children up.
const rows = { e: [], depth: [], end: [], fold: [], vis: [], folded: new Set() };
function makeRows() {
	const mode = +$('mode').value, bit = mode === OUTLINE ? USER : 1 << mode, rowOf = new Int32Array(N).fill(-1);
	const e = new Int32Array(N), above = new Int32Array(N), kids = new Int32Array(N);
	let roots = 0, n = 0;
	for (const i of D.order) {
		const p = D.parent[i] < 0 ? -1 : rowOf[D.parent[i]];
		rowOf[i] = p;
		if (!(D.mask[i] & bit) || (found && !found[i]) || (mode === OUTLINE && !onPath[i])) continue;
		rowOf[i] = n;
		e[n] = i;
		above[n++] = p;
		if (p < 0) roots++; else kids[p]++;
	}
	// A chain is a run of rows without a branch point; only branches indent.
	const depth = new Int32Array(n), first = new Uint8Array(n), end = new Int32Array(n);
	for (let r = 0; r < n; r++) {
		const p = above[r], goes = p < 0 ? r > 0 && roots === 1 : kids[p] === 1;
		depth[r] = p < 0 ? 0 : depth[p] + (goes ? 0 : 1);
		first[r] = goes ? 0 : 1;
		end[r] = r + 1;
	}
	for (let r = n - 1; r >= 0; r--) if (above[r] >= 0 && end[above[r]] < end[r]) end[above[r]] = end[r];
	Object.assign(rows, { e: e.subarray(0, n), depth, end, first, above, rowOf, folded: new Set(), outline: mode === OUTLINE });
	headRow = D.head;
	while (headRow >= 0 && (rowOf[headRow] < 0 || e[rowOf[headRow]] !== headRow)) headRow = D.parent[headRow];
	fold();
	say();
}
function fold() {
	const vis = new Int32Array(rows.e.length);
	let n = 0;
	for (let r = 0; r < rows.e.length; r++) {
		vis[n++] = r;
		if (rows.folded.has(r)) r = rows.end[r] - 1;
	}
	rows.vis = vis.subarray(0, n);
	tree.size(n);
}
function say() {
	$('count').textContent = rows.outline ? many(rows.e.length, 'prompt', 'prompts') : many(rows.e.length, 'entry', 'entries') + (found ? searching ? ' so far' : ' found' : '');
}

// A list of rows of one height. Where it would be taller than browsers allow, the bar stands for shares, and the wheel moves rows.
const tree = {
	box: $('tree'), pad: $('tree').firstElementChild, at: 0, n: 0, high: 26,
	size(n) { this.n = n; this.pad.style.height = Math.min(n * this.high, TALL) + 'px'; this.from(); this.draw(); },
	scaled() { return this.n * this.high > TALL; },
	from() {
		const { scrollTop, clientHeight } = this.box;
		this.at = this.scaled() ? scrollTop / Math.max(1, TALL - clientHeight) * Math.max(0, this.n - clientHeight / this.high) : scrollTop / this.high;
	},
	to(at) {
		at = Math.max(0, Math.min(at, this.n - this.box.clientHeight / this.high));
		this.box.scrollTop = this.scaled() ? at / Math.max(1, this.n - this.box.clientHeight / this.high) * (TALL - this.box.clientHeight) : at * this.high;
		this.at = at;
		this.draw();
	},
	reveal(v) { const room = this.box.clientHeight / this.high; if (v < this.at || v > this.at + room - 2) this.to(v - room / 2); else this.draw(); },
	draw() {
		const from = Math.max(0, Math.floor(this.at)), room = Math.ceil(this.box.clientHeight / this.high) + 2, list = $('rows'), out = [];
		for (let v = from; v < Math.min(this.n, from + room); v++) out.push(treeRow(v));
		list.replaceChildren(...out);
		list.style.transform = `translateY(${this.box.scrollTop - (this.at - from) * this.high}px)`;
		const on = out.find(r => r.classList.contains('sel'));
		if (on) this.box.setAttribute('aria-activedescendant', on.id); else this.box.removeAttribute('aria-activedescendant');
	},
};
function treeRow(v) {
	const r = rows.vis[v], i = rows.e[r], kind = KINDS[D.kind[i]], row = el('div', 'row ' + kind), said = D.sum(i);
	row.id = 'r' + r;
	row.setAttribute('role', 'treeitem');
	row.setAttribute('aria-level', rows.depth[r] + 1);
	row.setAttribute('aria-selected', i === chosen);
	row.setAttribute('aria-setsize', rows.e.length);
	row.setAttribute('aria-posinset', r + 1);
	row.classList.toggle('path', !!onPath[i]);
	row.classList.toggle('sel', i === chosen || rows.outline && i === target);
	row.style.paddingLeft = 6 + Math.min(24, rows.depth[r]) * 12 + 'px';
	const canFold = rows.first[r] && rows.end[r] > r + 1, mark = el('span', 'fold', canFold ? rows.folded.has(r) ? '▸' : '▾' : '');
	mark.setAttribute('aria-hidden', 'true');
	if (canFold) {
		row.setAttribute('aria-expanded', !rows.folded.has(r));
		mark.onclick = ev => { ev.stopPropagation(); toggle(r); };
	}
	row.append(mark, rows.outline ? el('span', 'no', r + 1) : el('span', 'k ' + (D.mask[i] & FAILED ? 'err' : kind)));
	if (i === headRow) row.append(el('span', 'head', 'HEAD'));
	row.append(...tags(i), el('span', 's', said || NAMES[D.kind[i]]));
	row.title = said;
	row.onclick = () => { if (rows.outline) aim(i); else choose(i, true); document.body.classList.remove('side'); };
	return row;
}
// The label of an entry, and what is noted about it.
const tags = i => [...(D.label[i] ? [el('span', 'tag', D.label[i])] : []), ...(D.note[i] ?? []).map(note => el('span', 'tag note', note))];
function toggle(r) {
	if (rows.folded.has(r)) rows.folded.delete(r); else rows.folded.add(r);
	fold();
}

// The conversation: the path from the root to the chosen entry, as groups of a reply with the results of its calls.
let chosen = -1, onPath = new Uint8Array(0), path = [], target = -1, edition = 0;
// The entries of the groups one after the other, where each begins, and the group of each entry.
const talk = { e: [], start: [], n: 0, of: [] };
const group = k => talk.e.subarray(talk.start[k], talk.start[k + 1]);
function choose(i, jump) {
	chosen = i;
	onPath.fill(0);
	let n = 0;
	for (let p = i; p >= 0 && !onPath[p]; p = D.parent[p]) { onPath[p] = 1; n++; }
	path = new Int32Array(n);
	for (let p = i; n > 0; p = D.parent[p]) path[--n] = p;
	const e = new Int32Array(path.length), start = new Int32Array(path.length + 1);
	if (talk.of.length !== N) talk.of = new Int32Array(N);
	talk.of.fill(-1);
	talk.n = 0;
	for (const p of path) {
		if (D.mask[p] & TALK || jump && p === i && i !== D.leaf) {
			const from = talk.n ? start[talk.n - 1] : 0, first = talk.n ? D.kind[e[from]] : -1;
			const joins = first === 1 && (D.kind[p] === TOOL || D.kind[p] === 1 && D.kind[e[n - 1]] === 1) && n - from < 24;
			if (!joins) start[talk.n++] = n;
			e[n++] = p;
		}
		// A hidden entry is shown by the group before it.
		talk.of[p] = talk.n - 1;
	}
	start[talk.n] = n;
	talk.e = e.subarray(0, n);
	talk.start = start;
	edition++;
	target = i;
	overview();
	if (rows.outline) makeRows();
	if (jump) { setView(false); show(i); history.replaceState(null, '', hashOf(i)); }
	reveal(i);
}
function reveal(i) {
	const r = rows.rowOf[i];
	if (r === undefined || r < 0) return tree.draw();
	for (const f of rows.folded) if (f < r && r < rows.end[f]) { rows.folded.delete(f); fold(); }
	tree.reveal(lowest(rows.vis, rows.vis.length, r));
}
const groupOf = i => {
	for (let p = i; p >= 0; p = D.parent[p]) if (talk.of[p] >= 0) return talk.of[p];
	return 0;
};
const show = i => conv.jump(groupOf(i));

// What the list shows: the path, or the messages that the model would be sent at HEAD.
let sent = false;
const view = {
	get n() { return sent ? D.ctx.length : talk.n; },
	async node(k) { return sent ? message(D.ctx[k], ofEntry(k) ? await body(D.ctx[k][0]) : null) : item(group(k), await Promise.all(Array.from(group(k), body))); },
	now(k) { return sent ? message(D.ctx[k], ofEntry(k) ? bodyNow(D.ctx[k][0]) : null) : item(group(k), Array.from(group(k), bodyNow)); },
};
// Whether a message has parts of its entry.
const ofEntry = k => { const [i, , , own] = D.ctx[k]; return i >= 0 && (!own || own.some(part => typeof part === 'number')); };
function setView(on) {
	if (sent === on) return;
	sent = on;
	edition++;
	$('ctx').setAttribute('aria-pressed', on);
	document.body.classList.toggle('sent', on);
	conv.jump(on ? D.ctx.length - 1 : groupOf(target));
}

// A list of items of any height: an anchor, and what fits around it. The scroll bar stands for shares of the list.
const conv = {
	box: $('conv'), pad: $('conv').firstElementChild, list: $('items'), first: 0, off: 0, last: 0, drawn: 0, nodes: new Map(), turn: 0, mine: -1,
	high() { return Math.min(Math.max(view.n * 180, this.box.clientHeight + 1), TALL); },
	jump(k) { this.first = k; this.off = 0; this.place(); return this.draw(); },
	// Puts the scroll bar where the anchor is.
	place() {
		const room = this.high() - this.box.clientHeight;
		this.pad.style.height = this.high() + 'px';
		this.mine = Math.round(Math.max(this.first > 0 || this.off > 0 ? 2 : 0, Math.min(room - 2, room * this.first / Math.max(1, view.n))));
		this.box.scrollTop = this.mine;
		this.last = this.box.scrollTop;
	},
	scrolled() {
		const top = this.box.scrollTop, by = top - this.last;
		this.last = top;
		if (Math.abs(by) < 1) return;
		if (Math.abs(by) > 3 * this.box.clientHeight) {
			const share = top / Math.max(1, this.high() - this.box.clientHeight);
			this.first = Math.max(0, Math.min(view.n - 1, Math.floor(share * view.n)));
			this.off = 0;
		} else this.move(by);
		this.draw();
	},
	move(by) {
		this.off += by;
		while (this.first < view.n - 1) {
			const h = this.nodes.get(this.first)?.offsetHeight;
			if (!h || this.off < h) break;
			this.off -= h;
			this.first++;
		}
		while (this.off < 0 && this.first > 0) {
			this.first--;
			this.off += this.nodes.get(this.first)?.offsetHeight || 180;
		}
		if (this.off < 0) this.off = 0;
	},
	async draw() {
		const turn = ++this.turn, room = this.box.clientHeight, end = view.n;
		const keep = new Map();
		const get = async k => {
			let node = this.nodes.get(k);
			if (!node || node.edition !== edition) { const now = edition; node = await view.node(k); node.edition = now; }
			keep.set(k, node);
			return node;
		};
		const list = [];
		const from = Math.max(0, this.first - 1);
		for (let k = from; k < Math.min(end, this.first + 12); k++) {
			list.push(await get(k));
			if (turn !== this.turn) return;
		}
		this.list.replaceChildren(...list);
		this.nodes = keep;
		// More, until the window is full.
		let next = from + list.length, high = 0;
		for (const [k, node] of keep) if (k >= this.first) high += node.offsetHeight;
		while (high - this.off < room * 1.5 && next < end) {
			const node = await get(next);
			if (turn !== this.turn) return;
			this.list.append(node);
			high += node.offsetHeight;
			next++;
		}
		// Not past the end.
		if (next >= end && high - this.off < room) {
			this.off -= room - (high - this.off);
			while (this.off < 0 && this.first > 0) {
				this.first--;
				if (!keep.has(this.first)) { const node = await get(this.first); if (turn !== this.turn) return; this.list.prepend(node); }
				this.off += keep.get(this.first).offsetHeight;
			}
			if (this.off < 0) this.off = 0;
		}
		this.settle();
	},
	settle() {
		let before = 0;
		for (const [k, node] of this.nodes) if (k < this.first) before += node.offsetHeight;
		const max = this.high() - this.box.clientHeight, top = this.box.scrollTop;
		const atStart = this.first === 0 && this.off <= 0;
		if (atStart && top > 0 || !atStart && (top <= 0 || top >= max - 1)) this.place();
		this.list.style.transform = `translateY(${this.box.scrollTop - this.off - before}px)`;
	},
};

function head(kind, name, i) {
	const out = el('article', 'item ' + kind), h = el('div', 'h');
	out.setAttribute('aria-label', name);
	h.append(el('b', '', name));
	out.append(h);
	if (i >= 0 && D.time[i]) { const t = el('time', '', clock.format(D.time[i])); t.dateTime = new Date(D.time[i]).toISOString(); h.append(t); }
	return [out, h];
}
// The link to an entry; none if its id is too long for an address.
const hashOf = i => D.id(i).length < 2000 ? '#' + encodeURIComponent(D.id(i)) : '#';
function anchor(i, text) {
	if (hashOf(i) === '#') return '';
	const a = el('a', '', text);
	a.href = hashOf(i);
	a.title = 'Link to this entry';
	if (text === '#') a.setAttribute('aria-label', 'Link to this entry');
	return a;
}
function item(group, bodies) {
	const first = group[0], [out, h] = head(KINDS[D.kind[first]], NAMES[D.kind[first]], first);
	if (group.includes(target)) out.classList.add('target');
	const model = bodies.find(b => b.m)?.m;
	if (model) h.children[0].after(el('span', '', model));
	let used = null, cost = 0;
	for (const b of bodies) if (b.u) { used = b.u; cost += b.u[4] ?? 0; }
	if (used) h.append(el('span', '', `${number.format(used[0] + used[2] + used[3])} in · ${number.format(used[1])} out` + (cost ? ' · ' + money(cost) : '')));
	for (const i of group) {
		if (i === headTalk) h.append(el('span', 'head', 'HEAD'));
		h.append(...tags(i));
	}
	h.append(anchor(first, '#'));
	const results = new Map(), used_ = new Set();
	for (const b of bodies) for (const part of b.b) if (part[0] === 'r' && part[1]) results.set(part[1], part);
	group.forEach((i, k) => {
		out.append(...parts(bodies[k], D.kind[i], results, used_));
		for (const [href, words] of D.link[i] ?? []) {
			const a = el('a', 'go', words);
			// Only to another page of the same folder.
			if (/^[\w.-]+\.html(#[\w%.-]*)?$/.test(href)) { a.href = href; out.append(a); }
		}
		for (const [to, end, name] of D.sub[i] ?? []) {
			const go = el('button', 'go', name + ' · ' + many(end[1], 'entry', 'entries'));
			go.onclick = () => { choose(end[0], true); aim(to); };
			out.append(go);
		}
	});
	return out;
}
function parts(b, kind, results, shown) {
	const out = [], md = kind === 0 || kind === 1 || kind === 4 || kind === 5;
	for (const part of b.b) {
		switch (part[0]) {
		case 't': out.push(long(part[1], md)); break;
		case 'h': out.push(box('Thinking', bytes(part[1].length), () => [markdown(part[1])])); break;
		case 'c': {
			const r = results.get(part[1]);
			if (r) shown.add(r);
			out.push(call(part, r));
			break;
		}
		case 'r': if (!shown.has(part)) out.push(box(part[2] ? 'Failed' : 'Result', bytes(part[3].length), () => result(part), part[2], part[3].length < FOLD_AT)); break;
		case 'i': out.push(image(part)); break;
		case 'o': if (b.b.length > 1 || !b.x) out.push(el('p', 'note', '(' + part[1] + ')')); break;
		}
	}
	if (b.x) out.push(long(b.x, kind === 4 || kind === 5));
	return out;
}
// A message as the model would be sent it: an entry, or parts of its own where the agent changes it or makes it up.
function message([i, role, notes, own], b) {
	const [out, h] = head(role === 'user' ? 'user' : 'assistant', ROLES[role] ?? role, i);
	for (const note of notes) h.append(el('span', 'tag note', note));
	if (i >= 0) h.append(anchor(i, '#'));
	out.append(...parts(own ? { b: own.map(part => typeof part === 'number' ? b.b[part] : part) } : b, i < 0 ? 1 : D.kind[i], new Map(), new Set()));
	return out;
}
let printing = false;
function long(text, md) {
	if (text.length <= SHOW_AT || printing) return md && text.length < 4e5 ? markdown(text) : codeBox(text);
	const out = el('div'), more = el('button', '', `Show all (${bytes(text.length)})`);
	let end = FOLD_AT;
	if (/[\ud800-\udbff]/.test(text[end - 1])) end--;
	out.append(md ? markdown(text.slice(0, end)) : codeBox(text.slice(0, end)), more);
	more.onclick = () => { out.replaceChildren(md && text.length < 4e5 ? markdown(text) : codeBox(text)); conv.draw(); };
	return out;
}
function box(title, note, make, err, open) {
	const d = el('details', 'box' + (err ? ' err' : '')), s = el('summary', '', title);
	s.append(el('span', 'n', note));
	d.append(s);
	const fill = () => { if (d.children.length === 1) { const inside = el('div'); inside.append(...make()); d.append(inside); } };
	if (open || printing) { d.open = true; fill(); }
	d.ontoggle = () => { if (d.open) fill(); conv.draw(); };
	return d;
}
// The text of a result; of one that is stored in a file, that of the file.
function result([, , , text, file]) {
	if (!file) return [long(text, false)];
	const [name, all, left] = file;
	return [el('div', 'arg', name + (left ? `: ${many(left, 'more byte', 'more bytes')} in the file` : '')), ...(all === null ? [] : [long(all, false)]), box('As the model was given it', bytes(text.length), () => [long(text, false)])];
}
function call(part, r) {
	const [, , name, args] = part, words = args.find(([k]) => /^(command|cmd|file_path|path|pattern|query|url|prompt|description)$/.test(k))?.[1] ?? args[0]?.[1] ?? '';
	const note = r ? (r[2] ? 'failed' : bytes((r[4]?.[1] ?? r[3]).length)) : sent ? '' : 'no result';
	return box(`${name} ${words}`.replace(/\s+/g, ' ').slice(0, 200), note, () => {
		const out = [], seen = new Set(), get = k => args.find(a => a[0] === k)?.[1];
		for (const [o, n] of [['old_string', 'new_string'], ['oldText', 'newText'], ['old_str', 'new_str']]) {
			if (get(o) === undefined || get(n) === undefined) continue;
			seen.add(o).add(n);
			out.push(codeBox(diff(get(o).split('\n'), get(n).split('\n')), 'diff'));
		}
		for (const [k, v] of args) if (!seen.has(k)) out.push(el('div', 'arg', k), codeBox(v));
		if (r) out.push(el('div', 'arg', r[2] ? 'Failed' : 'Result'), ...result(r));
		return out;
	}, r?.[2]);
}
// The lines that two texts have in common at both ends stay; the rest went and came.
function diff(a, b) {
	let s = 0, e = 0;
	while (s < a.length && s < b.length && a[s] === b[s]) s++;
	while (e < a.length - s && e < b.length - s && a[a.length - 1 - e] === b[b.length - 1 - e]) e++;
	return [...a.slice(Math.max(0, s - 3), s).map(l => ' ' + l), ...a.slice(s, a.length - e).map(l => '-' + l), ...b.slice(s, b.length - e).map(l => '+' + l), ...a.slice(a.length - e, a.length - e + 3).map(l => ' ' + l)].join('\n');
}
const MAGIC = [['image/png', [0x89, 0x50, 0x4e, 0x47]], ['image/jpeg', [0xff, 0xd8, 0xff]], ['image/gif', [0x47, 0x49, 0x46, 0x38]], ['image/webp', [0x52, 0x49, 0x46, 0x46]]];
function image([, n, mime, size]) {
	const node = imageEls[n];
	if (!node) return el('p', 'note', `(image: ${mime}, ${bytes(size)}, not in this page)`);
	try {
		const buf = decoded(node), type = MAGIC.find(([, m]) => m.every((b, i) => buf[i] === b))?.[0];
		if (!type) throw 0;
		const img = el('img');
		img.alt = 'Image of the conversation';
		const url = URL.createObjectURL(new Blob([buf], { type }));
		img.onload = img.onerror = () => { URL.revokeObjectURL(url); conv.settle(); };
		img.src = url;
		return img;
	} catch { return el('p', 'note', `(image: ${mime}, ${bytes(size)}, can't be shown)`); }
}

// Print has the whole conversation, with all that is folded on the screen. It does not wait, so all is inflated at once.
function print(on) {
	const to = $('print');
	if (!on) { to.replaceChildren(); return; }
	if (to.children.length || !D) return;
	printing = true;
	let left = PRINT_AT, k = 0;
	const title = el('h1', '', D.title || 'Session'), seen = new Set();
	to.append(title, el('p', 'note', D.agent + (D.cwd ? ' · ' + D.cwd : '')));
	for (; k < view.n && left > 0; k++) {
		const node = view.now(k);
		left -= node.textContent.length;
		to.append(node);
	}
	if (k < view.n) to.append(el('p', 'note', many(view.n - k, 'more item was left out', 'more items were left out')));
	printing = false;
	lastChunk = -1;
}

// Search: all words, in the text, the label or the kind of an entry; chunk by chunk, so that the first hits come at once.
let found = null, searching = false, searchNo = 0;
async function search(typed) {
	const no = ++searchNo, words = typed.toLowerCase().split(/\s+/).filter(Boolean);
	if (!words.length) { found = null; searching = false; makeRows(); return reveal(chosen); }
	found = new Uint8Array(N);
	searching = true;
	const quoted = words.map(w => JSON.stringify(w).slice(1, -1)), kinds = KINDS.map(kind => words.some(w => kind.includes(w)));
	const labeled = Object.keys(D.label).length > 0;
	// Rows are made anew now and then: for an eighth of the time at most, since that takes a second for millions of entries.
	let next = performance.now();
	for (let c = 0; c < chunkEls.length; c++) {
		const raw = await rawChunk(c);
		if (no !== searchNo) return;
		const small = raw.toLowerCase(), from = D.chunk[c], to = D.chunk[c + 1] ?? N;
		const inMeta = i => ((D.label[i] ?? '') + ' ' + KINDS[D.kind[i]]).toLowerCase();
		const all = quoted.every(w => small.includes(w));
		if (!all && !kinds.includes(true) && !labeled) continue;
		let list = null;
		for (let i = from; i < to; i++) {
			if (!all && !kinds[D.kind[i]] && !D.label[i]) continue;
			const meta = inMeta(i);
			list ??= JSON.parse(raw);
			const said = textOf(list[i - from]);
			if (words.every(w => meta.includes(w) || said.includes(w))) found[i] = 1;
		}
		const now = performance.now();
		if (now >= next) {
			makeRows();
			next = performance.now() + Math.max(150, 8 * (performance.now() - now));
			await new Promise(f => setTimeout(f));
			if (no !== searchNo) return;
		}
	}
	searching = false;
	makeRows();
}
function textOf(b) {
	const out = [b.x ?? ''];
	for (const p of b.b) {
		if (p[0] === 't' || p[0] === 'h') out.push(p[1]);
		else if (p[0] === 'r') out.push(p[3], p[4]?.[1] ?? '');
		else if (p[0] === 'c') { out.push(p[2]); for (const a of p[3]) out.push(a[1]); }
	}
	return out.join('\n').toLowerCase();
}

// What the path took, by turn, and what was done on it.
function overview() {
	const turns = [], models = new Map(), tools = new Map(), files = [new Map(), new Map()];
	const add = (map, key, n, i) => { const old = map.get(key) ?? [0, i]; old[0] += n; map.set(key, old); };
	let tokens = 0, cost = 0, failed = 0;
	for (const i of path) {
		if (D.mask[i] & USER || !turns.length) turns.push({ i, tokens: 0, cost: 0, time: 0, from: D.time[i], packed: false });
		const turn = turns.at(-1), used = D.used[i];
		if (D.kind[i] === 5) turn.packed = true;
		if (D.time[i] && turn.from) turn.time = Math.max(turn.time, D.time[i] - turn.from);
		if (D.mask[i] & FAILED) failed++;
		for (const [tool, file, changes] of D.calls.at[i] ?? []) {
			add(tools, D.calls.names[tool], 1, i);
			if (file >= 0) add(files[changes], D.calls.names[file], 1, i);
		}
		if (!used) continue;
		tokens += used[0];
		cost += used[1] ?? 0;
		turn.tokens += used[0];
		turn.cost += used[1] ?? 0;
		if (used[2]) add(models, used[2], used[0], i);
	}
	$('over').hidden = !tokens && !tools.size && turns.length < 2;
	const by = $('by').value, svg = $('chart'), step = Math.ceil(turns.length / 240), bars = Math.ceil(turns.length / step) || 0;
	const most = turns.reduce((most, turn) => Math.max(most, turn[by]), 0) || 1;
	svg.setAttribute('viewBox', `0 0 ${Math.max(24, bars) * 4} 60`);
	const out = [], make = (name, set) => { const e = document.createElementNS('http://www.w3.org/2000/svg', name); for (const k in set) e.setAttribute(k, set[k]); return e; };
	for (let b = 0; b < bars; b++) {
		const some = turns.slice(b * step, b * step + step), top = some.reduce((top, turn) => turn[by] > top[by] ? turn : top), h = Math.max(1, top[by] / most * 54);
		const bar = make('rect', { x: b * 4, y: 60 - h, width: 3, height: h }), t = make('title', {});
		t.textContent = `Turn ${turns.indexOf(top, b * step) + 1}: ${many(top.tokens, 'token', 'tokens')}` + (top.cost ? ', ' + money(top.cost) : '') + (top.time ? ', ' + lasted(top.time) : '');
		bar.append(t);
		bar.addEventListener('click', () => { setView(false); aim(some[0].i); });
		out.push(bar);
		if (some.some(t => t.packed)) out.push(make('line', { x1: b * 4, x2: b * 4, y1: 0, y2: 60 }));
	}
	svg.replaceChildren(...out);
	const span = path.length ? D.time[path.at(-1)] - D.time[path.find(i => D.time[i]) ?? path[0]] : 0;
	$('sum').textContent = [many(turns.length, 'turn', 'turns'), tokens && many(tokens, 'token', 'tokens'), cost && money(cost), span > 0 && lasted(span), failed && many(failed, 'failed call', 'failed calls')].filter(Boolean).join(' · ');
	const list = (title, map, say) => {
		if (!map.size) return [];
		const d = el('div'), all = [...map].sort((a, b) => b[1][0] - a[1][0]);
		d.append(el('b', '', title));
		for (const [name, [n, i]] of all.slice(0, 40)) {
			const b = el('button', '', name);
			b.title = 'Go to the first';
			b.onclick = () => { setView(false); aim(i); };
			const row = el('div');
			row.append(b, ' ' + say(n));
			d.append(row);
		}
		if (all.length > 40) d.append(el('div', '', `and ${number.format(all.length - 40)} more`));
		return [d];
	};
	const times = n => '× ' + number.format(n);
	$('facts').replaceChildren(...list('Models', models, n => many(n, 'token', 'tokens')), ...list('Tools', tools, times), ...list('Files changed', files[1], times), ...list('Files read', files[0], times));
}

const HELP = [['j k', 'Next, previous entry'], ['n N', 'Next, previous prompt'], ['← →', 'Fold, unfold (in the tree)'], ['/', 'Search'], ['h', 'Reset to HEAD'], ['m', 'As the model sees it'], ['t', 'Tree (narrow screens)'], ['?', 'Keys']];
function help() {
	const body = $('help').querySelector('tbody');
	body.replaceChildren(...HELP.map(([k, what]) => { const tr = el('tr'), td = el('td'); td.append(el('kbd', '', k)); tr.append(td, el('td', '', what)); return tr; }));
	$('help').showModal();
}
const toHead = () => { if (D.leaf >= 0) choose(D.leaf, true); };
async function toContext() {
	if (!D.sent) return;
	// Most readers never ask for it.
	D.ctx ??= JSON.parse(asText(await inflate(stored('sent')[0])));
	if (!sent && chosen !== D.leaf) choose(D.leaf, false);
	setView(!sent);
}
function side() { $('show').setAttribute('aria-expanded', document.body.classList.toggle('side')); tree.from(); tree.draw(); }
function step(by, only) {
	if (sent) return conv.jump(Math.max(0, Math.min(view.n - 1, conv.first + by)));
	let k = groupOf(target) + by;
	while (only && k >= 0 && k < talk.n && !(D.mask[group(k)[0]] & USER)) k += by;
	if (k >= 0 && k < talk.n) aim(group(k)[0]);
}
// Marks an entry of the conversation, and shows it.
function aim(i) {
	target = i;
	if (!sent) for (const [k, node] of conv.nodes) node.classList.toggle('target', k < talk.n && group(k).includes(i));
	if (rows.outline) tree.draw();
	show(i);
}
function keys(ev) {
	if (ev.ctrlKey || ev.metaKey || ev.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(ev.target.tagName)) {
		if (ev.key === 'Escape' && ev.target === $('find')) { $('find').value = ''; search(''); }
		return;
	}
	const inTree = ev.target === tree.box;
	if (inTree && /^(Arrow|Home|End|Enter)/.test(ev.key)) {
		const r = rows.rowOf[rows.outline ? target : chosen], v = lowest(rows.vis, rows.vis.length, r), go = i => rows.outline ? aim(i) : choose(i, true);
		let to = ev.key === 'ArrowDown' ? v + 1 : ev.key === 'ArrowUp' ? v - 1 : ev.key === 'Home' ? 0 : ev.key === 'End' ? rows.vis.length - 1 : -2;
		if (to === -2) {
			const canFold = r >= 0 && rows.first[r] && rows.end[r] > r + 1;
			if (ev.key === 'ArrowLeft') { if (canFold && !rows.folded.has(r)) toggle(r); else if (rows.above[r] >= 0) go(rows.e[rows.above[r]]); }
			if (ev.key === 'ArrowRight' && rows.folded.has(r)) toggle(r);
		} else if (rows.vis[to] !== undefined) go(rows.e[rows.vis[to]]);
		ev.preventDefault();
		return;
	}
	const does = { j: () => step(1), k: () => step(-1), n: () => step(1, true), N: () => step(-1, true), h: toHead, m: toContext, t: side, '?': help, '/': () => $('find').focus() }[ev.key];
	if (does) { ev.preventDefault(); does(); }
}
function fromHash() {
	let wanted = '';
	try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { /* not a link of this page */ }
	// An id may have dots.
	const whole = wanted ? D.id.find(wanted) : -1, [from, to] = wanted.split('..');
	const end = whole < 0 && wanted ? D.id.find(to || from) : whole;
	if (end < 0) return false;
	choose(end, false);
	setView(false);
	target = whole < 0 ? D.id.find(from) : whole;
	if (target < 0 || !onPath[target]) target = end;
	show(target);
	return true;
}

async function start() {
	D = JSON.parse(asText(await inflate(stored('index')[0])));
	N = D.n;
	chunkEls = stored('chunk');
	imageEls = stored('image');
	// Numbers of each entry, a column after the other, little end first.
	const columns = (await inflate(stored('columns')[0])).buffer, differences = new Int32Array(columns, 8 * N, 2 * N);
	D.time = new Float64Array(columns, 0, N);
	D.parent = differences.subarray(0, N);
	D.order = differences.subarray(N);
	D.kind = new Uint8Array(columns, 16 * N, N);
	D.mask = new Uint8Array(columns, 17 * N, N);
	for (let i = 0, time = 0, order = 0; i < N; i++) {
		D.parent[i] = D.parent[i] === 0 ? -1 : i - D.parent[i];
		if (Number.isNaN(D.time[i])) D.time[i] = 0; else D.time[i] = time += D.time[i];
		D.order[i] = order += D.order[i];
	}
	D.order = D.order.subarray(0, D.rows);
	D.id = texts(asText(await inflate(stored('ids')[0])));
	D.sum = texts(asText(await inflate(stored('words')[0])));
	onPath = new Uint8Array(N);
	$('title').textContent = D.title || 'Session';
	$('title').append(el('small', '', D.agent + (D.cwd ? ' · ' + D.cwd : '')));
	if (D.home && /^[\w.-]+\.html$/.test(D.home)) { $('all').href = D.home; $('all').hidden = false; }
	if (D.notes.length) { $('bar').textContent = D.notes.join(' · '); $('bar').hidden = false; $('bar').setAttribute('role', 'note'); }
	$('ctx').hidden = !D.sent;
	headTalk = D.head;
	while (headTalk >= 0 && !(D.mask[headTalk] & TALK)) headTalk = D.parent[headTalk];
	makeRows();
	if (!fromHash()) {
		if (D.leaf >= 0) choose(D.leaf, false); else if (N) choose(D.order[0], false);
		conv.jump(0);
	}
	$('mode').onchange = () => { makeRows(); reveal(chosen); };
	let wait;
	$('find').oninput = () => { clearTimeout(wait); wait = setTimeout(() => search($('find').value), 120); };
	$('head').onclick = toHead;
	$('ctx').onclick = toContext;
	$('keys').onclick = help;
	$('show').onclick = side;
	$('by').onchange = overview;
	$('over').ontoggle = () => conv.draw();
	$('theme').onclick = () => { const dark = matchMedia('(prefers-color-scheme:dark)').matches, root = document.documentElement; root.dataset.theme = (root.dataset.theme ?? (dark ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark'; };
	tree.box.onscroll = () => { tree.from(); tree.draw(); };
	tree.box.addEventListener('wheel', ev => { if (tree.scaled()) { ev.preventDefault(); tree.to(tree.at + ev.deltaY / tree.high); } }, { passive: false });
	conv.box.onscroll = () => conv.scrolled();
	conv.box.addEventListener('keydown', ev => {
		const by = { ArrowDown: 60, ArrowUp: -60, PageDown: conv.box.clientHeight - 60, PageUp: 60 - conv.box.clientHeight, ' ': conv.box.clientHeight - 60 }[ev.key];
		if (ev.target === conv.box && by) { ev.preventDefault(); conv.move(by); conv.draw(); }
		if (ev.target === conv.box && ev.key === 'Home') conv.jump(0);
		if (ev.target === conv.box && ev.key === 'End') conv.jump(view.n - 1);
	});
	document.addEventListener('keydown', keys);
	addEventListener('hashchange', fromHash);
	addEventListener('resize', () => { tree.from(); tree.draw(); conv.draw(); });
	addEventListener('beforeprint', () => print(true));
	addEventListener('afterprint', () => print(false));
	matchMedia('print').addEventListener('change', ev => print(ev.matches));
	document.addEventListener('click', ev => { if (document.body.classList.contains('side') && !ev.target.closest('nav,#show')) side(); });
	document.documentElement.dataset.ready = '1';
}
start();
