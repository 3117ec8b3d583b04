//! The additions that a view leaves out, as text.

use crate::explained::Explained;
use ws_text::number::grouped;

impl Explained {
    /// Returns the number of instructions that the measurement would be shorter without the additions that this view
    /// leaves out.
    pub fn left_out_measured(&self) -> i64 {
        let left_out = self.left_out.as_ref();
        left_out.map_or(0, |left_out| left_out.measured())
    }

    /// Returns the measurement without the additions that this view leaves out.
    pub fn remaining(&self) -> i64 {
        self.sum.measured - self.left_out_measured()
    }

    /// Returns the words after a number of instructions; empty if nothing is left out.
    pub(super) fn left_out_words(&self) -> String {
        let left_out = self.left_out.as_ref().map(|left_out| {
            let all = grouped(self.sum.measured);
            format!(" without {} ({all} with it)", left_out.named())
        });
        left_out.unwrap_or_default()
    }

    /// Describes the additions that are left out, in one line; empty if there are none.
    pub fn left_out_line(&self) -> String {
        let Some(left_out) = &self.left_out else {
            return String::new();
        };
        let (name, of) = (left_out.named(), &self.added);
        let why = of.iter().find(|added| left_out.names.contains(&added.name));
        match why {
            Some(added) => format!(
                "Left out: {name}, {} instructions that only the emulator adds ({}).\n",
                grouped(left_out.instructions as i64),
                added.why,
            ),
            None => format!("Left out: {name}, which adds nothing to this operation.\n"),
        }
    }

    /// Returns the line after the sum, which includes the additions; empty if nothing is left out.
    pub(super) fn left_out_sum(&self) -> String {
        let sum = self.left_out.as_ref().map(|left_out| {
            let [all, less, rest] = [self.sum.measured, left_out.measured(), self.remaining()];
            let [all, less, rest] = [all, less, rest].map(grouped);
            format!("Without {}: {all} - {less} = {rest}\n", left_out.named())
        });
        sum.unwrap_or_default()
    }

    /// Tells why x86 registers have no names, with the cure; nothing if they have names.
    pub fn unnamed(&self) -> Option<&'static str> {
        if self.architecture != "x86_64" {
            return None;
        }
        match (self.has_accesses, self.has_fields) {
            (true, true) => None,
            (true, false) => Some(
                "Fields of the VMCB are not counted: Bochs' debugger reports registers, not memory. lab:kvm counts these fields, on QEMU's processor.",
            ),
            (false, _) => Some(
                "MSRs have no names, and fields of the VMCB are not counted: QEMU before 9.1 shows a plugin neither registers nor addresses. Record again without --qemu, or with a newer QEMU.",
            ),
        }
    }
}
