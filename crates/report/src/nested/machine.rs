//! What a platform's name says of nested virtualization.

use super::PAPERS_POLICY;

/// A platform's name, split into the parts that tell the kind of machine.
pub struct Machine<'a> {
    base: &'a str,
    variant: Option<&'a str>,
    options: Vec<&'a str>,
}

impl<'a> Machine<'a> {
    /// The parts of a platform's name.
    pub fn of(platform: &'a str) -> Self {
        let mut parts = platform.split('+');
        let name = parts.next().unwrap_or_default();
        let (base, variant) = match name.split_once('@') {
            Some((base, variant)) => (base, Some(variant)),
            None => (name, None),
        };
        Self {
            base,
            variant,
            options: parts.collect(),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// What follows `@`.
    pub fn variant(&self) -> Option<&'a str> {
        self.variant
    }

    /// Whether its guest runs in a nested VM.
    pub fn is_nested(&self) -> bool {
        matches!(
            self.base,
            "lab:neve-nested"
                | "lab:kvm-nested"
                | "lab:kvm-intel-nested"
                | "lab:kvm-svm-nested"
                | "lab:neve-linux"
                | "lab:kvm-nested-linux"
                | "lab:kvm-svm-nested-linux"
        )
    }

    /// Whether it is a VM that `nested` is compared with, if the hypervisors are alike.
    pub fn is_vm_of(&self, nested: &Machine) -> bool {
        let base = match nested.base {
            "lab:neve-nested" => "lab:neve",
            "lab:kvm-nested" => "lab:kvm-vhe",
            "lab:kvm-intel-nested" => "lab:kvm-intel",
            "lab:kvm-svm-nested" => "lab:kvm",
            _ => return false,
        };
        // The paper's host hypervisor is without VHE, and so is the one here.
        self.base == base && !self.has("vhe=1")
    }

    /// The corresponding column of the paper. Its tables have neither FEAT_NV2 nor a third level.
    pub fn column(&self) -> Option<String> {
        let is_papers = self.has(&format!("policy={PAPERS_POLICY}"));
        let depth = self
            .options
            .iter()
            .any(|option| option.starts_with("depth="));
        let vhe = if self.has("vhe=1") { " VHE" } else { "" };
        match (self.base, self.variant) {
            ("lab:kvm-intel", _) => Some("x86 VM".into()),
            ("lab:kvm-intel-nested", _) if !self.has("vmcs-shadowing=0") => {
                Some("x86 Nested VM".into())
            }
            ("lab:kvm-vhe" | "lab:kvm-nvhe", _) => Some("ARMv8.3 VM".into()),
            ("lab:neve", _) if is_papers && vhe.is_empty() => Some("ARMv8.3 VM".into()),
            ("lab:neve-nested", Some("nv" | "pv")) if is_papers && !depth => {
                Some(format!("ARMv8.3 Nested VM{vhe}"))
            }
            ("lab:neve-nested", Some("neve")) if is_papers && !depth => {
                Some(format!("NEVE Nested VM{vhe}"))
            }
            _ => None,
        }
    }
}
