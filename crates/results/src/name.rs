//! From platform names to file names.

/// `lab:native` gives `lab-native.json`: safe in any file system, and different for every
/// platform.
pub fn file_name(_platform: &str) -> String {
    todo!()
}
