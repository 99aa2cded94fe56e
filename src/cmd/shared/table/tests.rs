//! Tests of a table: widths, columns that are left out, bars.

use super::*;

fn table() -> Table {
    let heads = ["model", "replies", "in", "cache read", "cost", ""];
    let mut table = Table::new(&heads, &[1, 2, 3, 4]);
    let cells = |cells: [&str; 6]| cells.map(str::to_owned);
    table.add_row(cells(["anthropic/claude-sonnet-4-5", "7", "12,450", "0", "-", "████"]));
    table.add_row(cells(["模型/模型模型模型模型模型", "1", "2", "0", "-", "▌"]));
    table
}

#[test]
fn the_widest_column_of_texts_is_cut_and_not_the_days_before_it() {
    let mut table = Table::new(&["day", "model", "replies"], &[2]);
    let cells = ["2026-11-23", "anthropic/claude-sonnet-4-5", "7"];
    table.add_row(cells.map(str::to_owned));
    let (lines, _) = table.lines_within(36);
    assert_eq!(lines[1], "2026-11-23  anthropic/claud…");
}

#[test]
#[rustfmt::skip] // a table
fn a_table_is_as_wide_as_the_terminal_at_most() {
    let check = |width: usize, wanted: &[&str]| {
        let (lines, heads) = table().lines_within(width);
        assert_eq!(lines, wanted, "{width}");
        assert_eq!(heads, wanted.len() - 2);
    };
    check(80, &[
        "model                        replies      in  cache read  cost",
        "anthropic/claude-sonnet-4-5        7  12,450           0     -  ████",
        "模型/模型模型模型模型模型          1       2           0     -  ▌",
    ]);
    check(66, &[
        "model                        replies      in  cache read  cost",
        "anthropic/claude-sonnet-4-5        7  12,450           0     -",
        "模型/模型模型模型模型模型          1       2           0     -",
    ]);
    check(60, &[
        "model                        replies      in  cost",
        "anthropic/claude-sonnet-4-5        7  12,450     -",
        "模型/模型模型模型模型模型          1       2     -",
    ]);
    check(40, &[
        "model              replies      in  cost",
        "anthropic/claude…        7  12,450     -",
        "模型/模型模型模…         1       2     -",
    ]);
    check(30, &[
        "model                 in  cost",
        "anthropic/claud…  12,450     -",
        "模型/模型模型模…       2     -",
    ]);
}
