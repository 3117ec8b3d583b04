//! `worldswitch run fleet`: a campaign over many machines, by Slurm or on this host.

mod cancel;
mod collect;
mod show;
mod submit;
mod work;

#[cfg(test)]
pub use cancel::Cancelled;
#[cfg(test)]
pub use show::Fleet;

use crate::cli::fleet::{CampaignArgs, FleetArgs, FleetWhat};
use crate::shared::{Done, input};
use ws_fleet::campaign::Campaign;
use ws_fleet::expand::Expanded;
use ws_fleet::folder::Folder;
use ws_fleet::queue;
use ws_fleet::view::View;
use ws_history::Address;
use ws_runner::parts;
use ws_terminal::{Colours, Stop, Usage, output};

/// Runs a subcommand.
pub fn fleet(args: &FleetArgs, colours: Colours) -> anyhow::Result<Done> {
    match &args.what {
        FleetWhat::Plan(args) => plan(args),
        FleetWhat::Submit(args) => submit::submit(args, colours),
        FleetWhat::Status(args) => status(args),
        FleetWhat::Collect(args) => collect::collect(args, colours),
        FleetWhat::Cancel(args) => cancel::cancel(args),
        FleetWhat::Work(args) => work::work(args, colours),
    }
}

/// The campaign of a file, and the folder that it names.
fn campaign(args: &CampaignArgs) -> anyhow::Result<(Campaign, Folder)> {
    let text = input::read(&args.campaign)?;
    let campaign = Campaign::parse(&text, &args.campaign).map_err(|e| Usage(e.to_string()))?;
    if campaign.post {
        let file = args.campaign.display();
        let history = campaign.history.as_deref().unwrap_or_default();
        must_take_posts(history).map_err(|what| Usage(format!("{file}: post: {what}")))?;
    }
    let folder = Folder::at(&campaign.folder);
    Ok((campaign, folder))
}

/// Checks that nodes can post to a history: its address is kept in the shared folder.
fn must_take_posts(history: &str) -> Result<(), String> {
    if !Address::is_one(history) {
        return Err("it needs history = \"postgresql://...\", which all nodes reach".into());
    }
    match Address::has_password(history) {
        Ok(false) => Ok(()),
        Ok(true) => Err(
            "the shared folder keeps the history's address: put the password into ~/.pgpass".into(),
        ),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads the state of a campaign.
fn view(args: &CampaignArgs) -> anyhow::Result<View> {
    let stop = Stop::listen()?;
    let (campaign, folder) = campaign(args)?;
    let parts = args.parts.to_parts();
    let resources = parts::resources(&parts);
    let expanded = Expanded::of(&campaign, &folder, &resources, &parts.lab, &stop)?;
    View::of(campaign, folder, expanded, queue::known)
}

fn plan(args: &CampaignArgs) -> anyhow::Result<Done> {
    let view = view(args)?;
    output::data(&match args.json {
        true => show::json(&view, &[])?,
        false => show::plan(&view),
    })?;
    Ok(Done::Whole)
}

fn status(args: &CampaignArgs) -> anyhow::Result<Done> {
    let view = view(args)?;
    output::data(&match args.json {
        true => show::json(&view, &[])?,
        false => show::status(&view),
    })?;
    Ok(Done::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_post_to_a_server_by_an_address_without_a_password() {
        for (history, said) in [
            ("", "it needs history"),
            ("h.sqlite", "it needs history"),
            ("mysql://u@h/d", "it needs history"),
            (
                "postgresql://u:p@h/d",
                "the shared folder keeps the history's address",
            ),
            (
                "postgresql://u@h/d?port=1&password=p",
                "the shared folder keeps the history's address",
            ),
            (
                "postgresql://u@h/d?pass%77ord=p",
                "the shared folder keeps the history's address",
            ),
            (
                "postgresql://u@h/d?port=x",
                "the address of the database is wrong",
            ),
        ] {
            let error = must_take_posts(history).unwrap_err();
            assert!(error.starts_with(said), "{history}: {error}");
        }
        assert_eq!(must_take_posts("postgresql://u@h:5432/d"), Ok(()));
    }
}
