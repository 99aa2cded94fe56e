// Markdown as agents write it, as nodes. Every text becomes a text node; nothing is parsed as HTML.
const el = (name, cls, text) => {
	const e = document.createElement(name);
	if (cls) e.className = cls;
	if (text !== undefined) e.textContent = text;
	return e;
};
const safeLink = url => /^(https?:|mailto:)/i.test(url);
const codeBox = (text, lang) => {
	const box = el('div', 'code'), pre = el('pre'), copy = el('button', '', 'Copy');
	pre.tabIndex = 0;
	if (lang === 'diff') {
		for (const line of text.split('\n')) pre.append(el('span', line[0] === '+' ? 'add' : line[0] === '-' ? 'del' : '', line + '\n'));
	} else pre.textContent = text;
	copy.onclick = () => navigator.clipboard?.writeText(text).then(() => { copy.textContent = 'Copied'; }, () => {});
	box.append(pre, copy);
	return box;
};
function inline(into, text) {
	const sign = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\\([\\`*_{}[\]()#+\-.!|~<>])|\*\*|__|~~|\*|_|!?\[([^\]\n]{0,500})\]\(([^\s()]{1,2000}(?:\([^\s()]*\))?)(?:\s+"[^"\n]*")?\)|https?:\/\/[^\s<>"'`|\\^{}[\]]+/g;
	const open = [];
	let at = 0, now = into;
	const say = part => { if (part) now.append(part); };
	for (let m; (m = sign.exec(text));) {
		say(text.slice(at, m.index));
		at = sign.lastIndex;
		if (m[1]) now.append(el('code', '', m[2].replace(/^ (.*) $/s, '$1')));
		else if (m[3]) say(m[3]);
		else if (m[5] !== undefined) {
			if (safeLink(m[5])) link(now, m[5], m[4] || m[5]);
			else say(m[0]);
		} else if (m[0][0] === 'h') {
			const url = m[0].replace(/[.,;:!?)*_]+$/, '');
			at -= m[0].length - url.length;
			sign.lastIndex = at;
			link(now, url, url);
		} else {
			const before = text[m.index - 1] ?? ' ', after = text[at] ?? ' ';
			const k = open.findIndex(o => o.sign === m[0]);
			const inWord = m[0][0] === '_' && /\w/.test(before) && /\w/.test(after);
			if (k >= 0 && /\S/.test(before) && !inWord) { now = open[k].up; open.length = k; }
			else if (k < 0 && /\S/.test(after) && !inWord && text.indexOf(m[0], at) >= 0 && open.length < 4) {
				open.push({ sign: m[0], up: now });
				const e = el(m[0] === '~~' ? 's' : m[0].length === 2 ? 'strong' : 'em');
				now.append(e);
				now = e;
			} else say(m[0]);
		}
	}
	say(text.slice(at));
}
function link(into, url, text) {
	const a = el('a', '', text);
	a.href = url;
	a.rel = 'noopener noreferrer';
	a.target = '_blank';
	into.append(a);
}
function markdown(text) {
	const out = el('div', 'md'), lines = text.split('\n');
	let para = [];
	const flush = () => {
		if (para.length) { const p = el('p'); inline(p, para.join('\n')); out.append(p); para = []; }
	};
	for (let i = 0; i < lines.length; i++) {
		const line = lines[i];
		let m;
		if ((m = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)[^`]*$/.exec(line))) {
			flush();
			const body = [], end = new RegExp('^ {0,3}' + m[1][0] + '{' + m[1].length + ',}\\s*$');
			for (i++; i < lines.length && !end.test(lines[i]); i++) body.push(lines[i]);
			out.append(codeBox(body.join('\n'), m[2]));
		} else if ((m = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line))) {
			flush();
			const h = el('h' + Math.min(6, m[1].length + 2));
			inline(h, m[2]);
			out.append(h);
		} else if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) { flush(); out.append(el('hr')); }
		else if ((m = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line))) {
			flush();
			const li = el('div', 'li'), body = el('div');
			li.style.marginLeft = Math.min(8, m[1].replace(/\t/g, '  ').length / 2) * 1.2 + .4 + 'em';
			let said = m[3].replace(/^\[([ xX])\]\s/, (_, done) => done === ' ' ? '☐ ' : '☑ ');
			while (i + 1 < lines.length && /^\s{2,}\S/.test(lines[i + 1]) && !/^\s*([-*+]|\d{1,9}[.)]|`{3}|~{3})\s*/.test(lines[i + 1])) said += '\n' + lines[++i].trim();
			li.append(el('span', '', /\d/.test(m[2]) ? m[2] : '•'), body);
			inline(body, said);
			out.append(li);
		} else if (/^\s*>/.test(line)) {
			flush();
			const said = [line.replace(/^\s*> ?/, '')];
			while (i + 1 < lines.length && /^\s*>/.test(lines[i + 1])) said.push(lines[++i].replace(/^\s*> ?/, ''));
			const q = el('blockquote');
			inline(q, said.join('\n'));
			out.append(q);
		} else if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? '')) {
			flush();
			const cells = row => row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/);
			const table = el('table'), box = el('div', 'scroll');
			const sides = cells(lines[i + 1]).map(cell => /^\s*:?-+:\s*$/.test(cell) ? cell.trim()[0] === ':' ? 'center' : 'right' : '');
			const add = (row, name) => {
				const tr = el('tr');
				cells(row).slice(0, 50).forEach((cell, k) => {
					const c = el(name);
					if (sides[k]) c.style.textAlign = sides[k];
					inline(c, cell.trim().replace(/\\\|/g, '|'));
					tr.append(c);
				});
				table.append(tr);
			};
			add(line, 'th');
			for (i += 2; i < lines.length && lines[i].includes('|'); i++) add(lines[i], 'td');
			i--;
			box.append(table);
			out.append(box);
		} else if (!line.trim()) flush();
		else para.push(line);
	}
	flush();
	out.querySelectorAll('p,blockquote,.li>div').forEach(p => { p.style.whiteSpace = 'pre-line'; });
	return out;
}
