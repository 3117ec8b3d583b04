//! The hypervisor's signature in CPUID.

/// The signature of CPUID leaf 0x4000_0000; none if the CPU reports no hypervisor.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor_signature() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    /// Leaf 1, ECX: set by hypervisors, always 0 on real CPUs.
    const HYPERVISOR: u32 = 1 << 31;
    #[allow(unused_unsafe)] // Newer toolchains call it safe.
    // SAFETY: every x86-64 CPU has CPUID, and leaf 1 of it; where the hypervisor bit is set, leaf
    // 0x4000_0000 is the hypervisor's. The instruction changes nothing but its four registers.
    let leaf = unsafe {
        if __cpuid(1).ecx & HYPERVISOR == 0 {
            return None;
        }
        __cpuid(0x4000_0000)
    };
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx]
        .map(u32::to_le_bytes)
        .concat();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text.trim_end_matches('\0').to_owned())
}

/// Returns none: other architectures have no CPUID.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor_signature() -> Option<String> {
    None
}
