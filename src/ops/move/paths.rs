//! Folders that have other paths now.

/// Folders and their new paths. A path below a folder moves with it; a path that merely begins with
/// the same letters does not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathMap {
    /// Old and new paths, without a slash at the end; the longest old path first.
    pairs: Vec<(String, String)>,
}

impl PathMap {
    /// Creates a map without folders.
    pub fn new() -> PathMap {
        PathMap::default()
    }

    /// Adds a folder. An old path that is already in the map keeps its new path.
    pub fn add(&mut self, old: &str, new: &str) {
        let trim = |path: &str| match path.trim_end_matches('/') {
            "" => "/".to_owned(),
            path => path.to_owned(),
        };
        let (old, new) = (trim(old), trim(new));
        if self.pairs.iter().all(|(known, _)| *known != old) {
            self.pairs.push((old, new));
            self.pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
        }
    }

    /// Returns the old and new paths, the longest old path first.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Returns the old and the new beginning of a path that is one of the folders, or below one.
    pub fn moved<'m>(&'m self, path: &str) -> Option<(&'m str, &'m str)> {
        self.pairs.iter().find(|(old, _)| is_in(path, old)).map(|(old, new)| (&**old, &**new))
    }

    /// Returns the new path of a folder, or of a path below one.
    pub fn apply(&self, path: &str) -> Option<String> {
        let (old, new) = self.moved(path)?;
        let rest = &path[old.len()..];
        Some(match (old, new) {
            ("/", new) => format!("{}/{rest}", new.trim_end_matches('/')),
            (_, "/") if !rest.is_empty() => rest.to_owned(),
            _ => format!("{new}{rest}"),
        })
    }
}

/// Returns whether a path is a folder, or below it.
fn is_in(path: &str, folder: &str) -> bool {
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || folder == "/" || rest.starts_with(['/', '\\']),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn a_path_moves_with_its_folder_only() {
        let mut map = PathMap::new();
        map.add("/w/app/", "/w/new");
        map.add("/w/app/docs", "/d");
        map.add("/Users/a", "/home/b");
        let check = |path: &str, wanted: Option<&str>| {
            assert_eq!(map.apply(path).as_deref(), wanted, "{path}");
        };
        check("/w/app",              Some("/w/new"));
        check("/w/app/",             Some("/w/new/"));
        check("/w/app/src/x.rs",     Some("/w/new/src/x.rs"));
        check("/w/app/docs/x",       Some("/d/x"));
        check("/w/app/docsx",        Some("/w/new/docsx"));
        check("/Users/a/p",          Some("/home/b/p"));
        check("/w/app-docker",       None);
        check("/w/app.old/x",        None);
        check("/w/application",      None);
        check("/w",                  None);
        check("w/app",               None);
        check("",                    None);
    }

    #[test]
    fn the_root_is_a_folder_too() {
        let mut map = PathMap::new();
        map.add("/", "/mnt/old");
        assert_eq!(map.apply("/w/app").as_deref(), Some("/mnt/old/w/app"));
        let mut back = PathMap::new();
        back.add("/mnt/old", "/");
        assert_eq!(back.apply("/mnt/old/w").as_deref(), Some("/w"));
        assert_eq!(back.apply("/mnt/old").as_deref(), Some("/"));
    }
}
