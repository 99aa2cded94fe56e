//! Statistics as one page: charts and tables. It has no script.

use super::{escaped, hash};
use crate::model::Count;
use std::fmt::Write as _;

const CSS: &str = ":root{color-scheme:light dark;--line:#d8dee4;--dim:#57606a;--acc:#0757c2}@media(prefers-color-scheme:dark){:root{--line:#313845;--dim:#a2adba;--acc:#8ab8ff}}\
*{box-sizing:border-box}body{font:15px/1.5 system-ui,sans-serif;max-width:980px;margin:0 auto;padding:24px 20px}h1{font-size:1.5em;margin:.2em 0;overflow-wrap:anywhere}\
h2{font-size:1.05em;margin:1.8em 0 .4em}p,figcaption{color:var(--dim);margin:.2em 0 1em}figure{margin:0;display:inline-block;max-width:100%;min-width:min(100%,320px)}\
figcaption{display:flex;justify-content:space-between;gap:14px;font-size:13px}svg{display:block;max-width:100%;height:120px;border-bottom:1px solid var(--line)}rect{fill:var(--acc)}rect:hover{opacity:.7}\
div{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:5px 14px 5px 0;text-align:right;border-top:1px solid var(--line);white-space:nowrap}\
th{color:var(--dim);font-weight:400;border-top:0}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:9em}th:last-child,td:last-child{padding-right:0}\
@media print{svg{height:90px}}";

/// The most rows of a table; what is more is counted.
const ROWS: usize = 100;

/// What a page of statistics shows.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Figures {
    /// Its title.
    pub title: String,
    /// Facts about the whole, for people.
    pub facts: Vec<String>,
    /// The charts.
    pub charts: Vec<Chart>,
    /// The tables.
    pub tables: Vec<FigureTable>,
}

/// A chart of bars, e.g. one for each day.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// What is shown, e.g. `Tokens by day`.
    pub heading: String,
    /// The name of each bar, its value, and the value for people.
    pub bars: Vec<(String, f64, String)>,
}

/// A table; the first cell of a row is a name, the others are numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FigureTable {
    /// The heads of the columns; that of the names is the heading.
    pub heads: Vec<&'static str>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Returns the page.
pub fn figures(all: &Figures) -> String {
    let policy =
        format!("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'", hash(CSS));
    let title = escaped(&all.title);
    let facts: Vec<String> = all.facts.iter().map(|fact| escaped(fact)).collect();
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
         <style>{CSS}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p>{}</p>\n",
        facts.join(" · ")
    );
    for chart in &all.charts {
        draw(chart, &mut out);
    }
    for table in &all.tables {
        let _ = writeln!(out, "<h2>{}</h2>\n<div><table>", escaped(table.heads.first().unwrap_or(&"")));
        let cells = |name: &str, cells: &[String]| {
            cells.iter().fold(String::new(), |mut row, cell| {
                let _ = write!(row, "<{name}>{}</{name}>", escaped(cell));
                row
            })
        };
        let heads: Vec<String> = std::iter::once(String::new())
            .chain(table.heads.iter().skip(1).map(|head| (*head).to_owned()))
            .collect();
        let _ = writeln!(out, "<thead><tr>{}</tr></thead>\n<tbody>", cells("th", &heads));
        for row in table.rows.iter().take(ROWS) {
            let _ = writeln!(out, "<tr>{}</tr>", cells("td", row));
        }
        out += "</tbody>\n</table></div>\n";
        if table.rows.len() > ROWS {
            let left = table.rows.len() - ROWS;
            let _ =
                writeln!(out, "<p>{}</p>", Count("more row is not shown", "more rows are not shown", left));
        }
    }
    out + "</main>\n</body>\n</html>\n"
}

/// Draws the bars, each 10 wide and up to 100 high, and what the first, the last and the highest are.
fn draw(chart: &Chart, out: &mut String) {
    let highest = chart.bars.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let (Some(highest), Some(first), Some(last)) = (highest, chart.bars.first(), chart.bars.last()) else {
        return;
    };
    if highest.1 <= 0.0 {
        return;
    }
    let _ = writeln!(
        out,
        "<h2>{0}</h2>\n<figure>\n<svg width=\"{2}\" viewBox=\"0 0 {1} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0}\">",
        escaped(&chart.heading),
        chart.bars.len() * 10,
        // A few bars are not as wide as the page.
        chart.bars.len() * 28
    );
    for (at, (name, value, words)) in chart.bars.iter().enumerate().filter(|(_, bar)| bar.1 > 0.0) {
        // What is there can be seen.
        let high = (value / highest.1 * 96.0).max(1.0);
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{:.1}\" width=\"8\" height=\"{high:.1}\"><title>{}: {}</title></rect>",
            at * 10,
            100.0 - high,
            escaped(name),
            escaped(words)
        );
    }
    let ends = if chart.bars.len() > 1 {
        format!("{} – {}", escaped(&first.0), escaped(&last.0))
    } else {
        escaped(&first.0)
    };
    let _ = writeln!(
        out,
        "</svg>\n<figcaption><span>{ends}</span><span>most: {} ({})</span></figcaption>\n</figure>",
        escaped(&highest.2),
        escaped(&highest.0)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_to_scale_and_all_texts_are_escaped() {
        let bar = |name: &str, value: f64| (name.to_owned(), value, format!("<{value}>"));
        let all = Figures {
            title: "</title><script>".into(),
            facts: vec!["<i>".into()],
            charts: vec![
                Chart { heading: "<h>".into(), bars: vec![bar("a", 50.0), bar("\"b", 0.0), bar("c", 100.0)] },
                Chart { heading: "nothing".into(), bars: vec![bar("a", 0.0)] },
            ],
            tables: vec![FigureTable {
                heads: vec!["tools", "calls"],
                rows: (0..ROWS + 2).map(|at| vec![format!("<b>{at}"), at.to_string()]).collect(),
            }],
        };
        let page = figures(&all);
        let body = page.split_once("<main>").unwrap().1;
        assert!(!page.contains("<script") && !body.contains("<i>") && !body.contains("<b>"), "{page}");
        let highs: Vec<&str> =
            body.split("width=\"8\" height=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(highs, ["48.0", "96.0"]);
        assert!(body.contains("<title>c: &lt;100&gt;</title>") && body.contains("a – c"), "{body}");
        assert!(!body.contains("nothing"), "{body}");
        assert_eq!(body.matches("<td>").count(), 2 * ROWS);
        assert!(body.contains("2 more rows are not shown"));
        assert!(page.contains(&format!("style-src 'sha256-{}'", hash(CSS))));
    }
}
