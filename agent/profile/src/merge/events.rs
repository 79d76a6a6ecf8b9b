//! Adds a Flight Recorder file to a profile. It surveys the file, relates the clocks, reads the
//! events, and writes the markers.

mod reading;
mod write;

use std::io::{Read, Seek};

use crate::document::Part;
use crate::error::Error;
use vouch_jfr::Reader;

use crate::merge::choice::Choice;
use crate::merge::merged::Merged;
use crate::merge::profile::Profile;
use crate::merge::survey::{Survey, unreadable};
use reading::Reading;

/// Adds the events of a Flight Recorder file to a profile.
pub fn merge<F: Read + Seek>(
    profile: Part,
    mut recording: F,
    choice: &Choice,
) -> Result<(Part, Merged), Error> {
    let wrong = |why| unreadable(&choice.recording, why);
    let mut profile = Profile::new(profile).map_err(|wrong| Error::NotByVouch(Box::new(wrong)))?;
    if profile.has_several_processes()? {
        return Err(Error::SeveralProcesses);
    }
    let mut reader = Reader::new(&mut recording).map_err(wrong)?;
    let survey = Survey::new(&mut reader, &profile, choice)?;
    let mut reading = Reading::new(survey, &profile, choice)?;
    let mut reader = Reader::new(&mut recording).map_err(wrong)?;
    let mut index = 0;
    while let Some(chunk) = reader.next_chunk().map_err(wrong)? {
        if let Ok(chunk) = chunk {
            reading.chunk(&chunk, index);
            index += 1;
        }
    }
    let merged = reading.write(&mut profile)?;
    Ok((profile.into_document()?, merged))
}
