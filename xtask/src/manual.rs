//! Writes the manual pages and the shell completions of a release.

use std::fs;
use std::io;
use std::path::Path;

use clap_complete::Shell;

/// For each shell: the folder below `share` for completions, and the file name that the shell looks
/// for.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/vouch"),
    (Shell::Zsh, "zsh/site-functions/_vouch"),
    (Shell::Fish, "fish/vendor_completions.d/vouch.fish"),
];

/// Writes all manual pages and completions into a folder, which becomes `share`.
pub fn write(share: &Path) -> io::Result<()> {
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(vouch_cli::command(), &pages)?;
    for (shell, name) in SHELLS {
        let place = share.join(name);
        place.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut vouch_cli::command(), "vouch", &mut text);
        fs::write(place, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_a_page_and_every_shell_its_completion() {
        let share = std::env::temp_dir().join(format!("vouch-manual-{}", std::process::id()));
        write(&share).unwrap();
        // The manual leaves out hidden verbs.
        let command = vouch_cli::command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs: Vec<String> = shown.map(|verb| verb.get_name().to_owned()).collect();
        assert!(verbs.len() > 10);
        for verb in &verbs {
            let page = fs::read_to_string(share.join(format!("man/man1/vouch-{verb}.1"))).unwrap();
            assert!(page.contains("SYNOPSIS"), "{verb}");
        }
        for (shell, name) in SHELLS {
            let text = fs::read_to_string(share.join(name)).unwrap();
            assert!(verbs.iter().all(|verb| text.contains(verb.as_str())), "{shell}");
        }
        fs::remove_dir_all(&share).unwrap();
    }
}
