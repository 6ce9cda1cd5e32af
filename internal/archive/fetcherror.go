// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package archive

// FetchError says why an upstream's content could not be fetched. A source's status shows it.
type FetchError struct {
	// Reason is the condition's reason, one of Flux's: AuthenticationFailed, GitOperationFailed,
	// OCIArtifactPullFailed, BucketOperationFailed, URLInvalid, VerificationError and so on.
	Reason string
	// Message says what was attempted, on what, why it failed and what to do. It contains no
	// credentials, not even from URLs.
	Message string
	// Stalled is true if retrying is useless until somebody changes the source or an object that it
	// refers to.
	Stalled bool
	// Err is the cause, for errors.As. It is never shown.
	Err error
}

func (e *FetchError) Error() string { return e.Message }

func (e *FetchError) Unwrap() error { return e.Err }
