//! Statistics of samples and boots.
