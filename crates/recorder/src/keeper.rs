//! Explanations as files in the folder of results, where `report` finds them.

use anyhow::bail;
use std::path::Path;
use std::time::SystemTime;
use ws_explain::explained::Explained;
use ws_machines::name::PlatformName;
use ws_runner::Folder;
use ws_terminal::output;

/// Keeps explanations in a folder.
pub struct Keeper {
    folder: Folder,
}

impl Keeper {
    /// Makes the folder, before anything is booted.
    ///
    /// # Errors
    /// The folder can't be made, or it already has one of these explanations and `force` is not set.
    pub fn make<'a>(
        path: &Path,
        force: bool,
        mut names: impl Iterator<Item = (&'a PlatformName, &'a str)>,
    ) -> anyhow::Result<Self> {
        let folder = Folder::make(Some(path), force, SystemTime::now())?;
        let file = |platform: &PlatformName, benchmark: &str| {
            path.join(ws_results::explanation_name(
                &platform.to_string(),
                benchmark,
            ))
        };
        match names.find(|(platform, benchmark)| file(platform, benchmark).exists()) {
            Some((platform, benchmark)) if !force => bail!(
                "{} has an explanation of {benchmark} on {platform} already: name another folder with -o, or replace it with --force",
                path.display()
            ),
            _ => Ok(Self { folder }),
        }
    }

    /// Writes an explanation and prints its path.
    pub fn keep(&self, explained: &Explained) -> anyhow::Result<()> {
        let name = ws_results::explanation_name(&explained.platform, &explained.benchmark);
        let path = self.folder.path().join(name);
        ws_results::write_bytes(&path, explained.to_json()?.as_bytes())?;
        output::remark(&format!(
            "the explanation is {}; worldswitch report shows it",
            path.display()
        ));
        Ok(())
    }
}
