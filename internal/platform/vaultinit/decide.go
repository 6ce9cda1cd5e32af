// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

// Phase says how far the key file is.
type Phase string

const (
	// PhaseNone: there is no key file.
	PhaseNone Phase = ""
	// PhaseReserved: Vault may have been asked; the file has no keys.
	PhaseReserved Phase = "reserved"
	// PhaseSealed: the file has the keys and the root token.
	PhaseSealed Phase = "sealed"
	// PhaseDone: the setup is complete, and the root token revoked.
	PhaseDone Phase = "done"
)

// Facts are what is known before a call does anything.
type Facts struct {
	// Initialized and Sealed are Vault's.
	Initialized, Sealed bool
	// Phase is that of the key file, Elsewhere is true if it is of another Vault.
	Phase     Phase
	Elsewhere bool
	// Identities: the caller can decrypt enough shares, and the root token.
	Identities bool
}

// Verb is what a call does.
type Verb string

const (
	VerbInit    Verb = "init"    // initialise, and set up
	VerbResume  Verb = "resume"  // set up with the keys of the file
	VerbNothing Verb = "nothing" // everything is done
	VerbRefuse  Verb = "refuse"
)

// Decision is a verb with its reason.
type Decision struct {
	Verb    Verb
	Message string
}

// rules are in order; the first one that applies counts.
var rules = []struct {
	applies func(Facts) bool
	then    Decision
}{
	{func(f Facts) bool { return f.Elsewhere }, Decision{VerbRefuse, "the key file is of another Vault. Name another file"}},
	{func(f Facts) bool { return !f.Initialized && (f.Phase == PhaseNone || f.Phase == PhaseReserved) },
		Decision{VerbInit, "Vault is not initialised"}},
	{func(f Facts) bool { return !f.Initialized },
		Decision{VerbRefuse, "the key file has keys, but Vault is not initialised: its storage was emptied, or it is another Vault. Move the key file away to begin again"}},
	{func(f Facts) bool { return f.Phase == PhaseDone }, Decision{VerbNothing, "Vault is initialised and set up; the key file has its keys"}},
	{func(f Facts) bool { return f.Phase == PhaseNone },
		Decision{VerbRefuse, "Vault is initialised already, and not by this key file. Whoever did that has its keys"}},
	{func(f Facts) bool { return f.Phase == PhaseReserved && f.Sealed },
		Decision{VerbRefuse, "Vault was initialised, and its answer with the keys was lost: nobody can unseal it. It was never unsealed, so it has no content: " +
			"empty its storage, restart it, and run the same command again"}},
	{func(f Facts) bool { return f.Phase == PhaseReserved },
		Decision{VerbRefuse, "Vault is initialised and unsealed, but the key file has no keys: somebody else has initialised it. Whoever did that has its keys"}},
	{func(f Facts) bool { return !f.Identities },
		Decision{VerbRefuse, "Vault is initialised, and its keys are in the key file, but its setup was interrupted. To continue, give the identities of enough recipients"}},
	{func(Facts) bool { return true }, Decision{VerbResume, "the setup was interrupted"}},
}

// Decide says what to do.
func Decide(f Facts) Decision {
	for _, r := range rules {
		if r.applies(f) {
			return r.then
		}
	}
	panic("no rule applies. This is a bug in Yuba.")
}
