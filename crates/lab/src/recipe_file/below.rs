//! The part of a recipe's file about the hypervisor below a whole Linux.

use super::{key_of_module, merge, word_key};
use crate::recipe::{Below, BelowHypervisor, Kernel, Mechanism, Module, Source, Word};
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum BelowKind {
    Kvm,
    Neve,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BelowPart {
    kind: Option<BelowKind>,
    package: Option<String>,
    nest: Option<Mechanism>,
    memory_beside_mib: Option<u64>,
    #[serde(default)]
    parameter: Vec<Word>,
    #[serde(default)]
    module: Vec<Module>,
    #[serde(default)]
    word: Vec<Word>,
}

impl BelowPart {
    pub(super) fn over(self, parent: Self) -> Self {
        Self {
            kind: self.kind.or(parent.kind),
            package: self.package.or(parent.package),
            nest: self.nest.or(parent.nest),
            memory_beside_mib: self.memory_beside_mib.or(parent.memory_beside_mib),
            parameter: merge(self.parameter, parent.parameter, word_key),
            module: merge(self.module, parent.module, key_of_module),
            word: merge(self.word, parent.word, word_key),
        }
    }

    /// Makes the finished part. The error says what is wrong.
    pub(super) fn complete(self) -> Result<Below, &'static str> {
        let has_kernel = self.package.is_some() || !self.module.is_empty();
        let hypervisor = match (self.kind, self.package, self.nest) {
            (Some(BelowKind::Kvm), Some(package), None) => BelowHypervisor::Kvm {
                kernel: Kernel {
                    source: Source::Package(package),
                    parameters: self.parameter,
                    modules: self.module,
                },
                words: self.word,
            },
            (Some(BelowKind::Neve), None, Some(nest)) if !has_kernel && self.word.is_empty() => {
                BelowHypervisor::Neve {
                    nest,
                    parameters: self.parameter,
                }
            }
            _ => {
                return Err(
                    "[below] has kind = \"kvm\" with a package, or kind = \"neve\" with nest",
                );
            }
        };
        Ok(Below {
            memory_beside_mib: self
                .memory_beside_mib
                .ok_or("[below] lacks memory_beside_mib")?,
            hypervisor,
        })
    }
}
