// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// ErrNoVersion reports that a state has no version with the id asked for. Test for it with errors.Is.
var ErrNoVersion = errors.New("no such version")

// CorruptError reports bytes that are not a state. They are left as they are.
type CorruptError struct {
	Key Key
	// Where the bytes are: the Secret, a version, or what was to be written.
	Where string
	// Offered is true for bytes that were to be written: nothing was stored.
	Offered bool
	Err     error
}

func (e *CorruptError) Error() string {
	if e.Offered {
		return fmt.Sprintf("write the state of %s: %s is not a state: %v. Nothing was changed", e.Key, e.Where, e.Err)
	}
	return fmt.Sprintf("read the state of %s: %s is not a state: %v.\n"+
		"Nothing was changed. Look for an intact version and go back to it, or restore a backup of Yuba when there is none:\n"+
		"    yuba state history %s\n    yuba state rollback %s VERSION", e.Key, e.Where, e.Err, e.Key, e.Key)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// VanishedError reports that there is no state where one has been.
type VanishedError struct {
	Key Key
	// Newest is the newest stored version, nil when there is none: then the stack is known to have been applied.
	Newest *Version
	// Emptied is true when the Secret is there and holds no state.
	Emptied bool
}

func (e *VanishedError) Error() string {
	text := fmt.Sprintf("read the state of %s: %s", e.Key, e.what())
	if e.Newest == nil {
		return text + ", but the stack has been applied before, and no version of its state is stored.\n" +
			"Without it everything would be created a second time. Restore the Secret from a backup."
	}
	return text + fmt.Sprintf(", the newest stored version is %s of %s.\n"+
		"Without it everything would be created a second time. Bring it back:\n    yuba state rollback %s %s\n"+
		"Or, if nothing of it exists any more, start with an empty one:\n    yuba state drop %s",
		e.Newest.ID, e.Newest.Time.Format(time.RFC3339), e.Key, e.Newest.ID, e.Key)
}

// what says what is missing.
func (e *VanishedError) what() string {
	what := "is gone"
	if e.Emptied {
		what = "holds no state any more"
	}
	return fmt.Sprintf("Secret %s/%s %s", e.Key.Namespace, e.Key.SecretName(), what)
}

// Destroying explains to somebody who destroys the stack that its resources are unknown. keep is the command that deletes
// the stack and keeps its resources.
func (e *VanishedError) Destroying(keep string) string {
	text := fmt.Sprintf("destroy what %s manages: %s, and with it the list of what there is to destroy", e.Key, e.what())
	if e.Newest == nil {
		text += ". No version of it is stored: restore the Secret from a backup."
	} else {
		text += fmt.Sprintf(". The newest stored version is %s of %s. To destroy what that lists:\n    yuba state rollback %s %s",
			e.Newest.ID, e.Newest.Time.Format(time.RFC3339), e.Key, e.Newest.ID)
	}
	return text + "\nTo let the stack go and keep its resources:\n    " + keep
}

// ConflictError reports that somebody else wrote the state since the writer read it. What the writer wrote is kept.
type ConflictError struct {
	Key Key
	// Expected is what the writer started from, Found what the Secret holds.
	Expected, Found Mark
	// Stored is the version that keeps what was to be written.
	Stored Version
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("write the state of %s: it moved from %s to %s behind the run's back.\n"+
		"The Secret was left alone; what the run wrote is kept as version %s. If it is the right one:\n"+
		"    yuba state rollback %s %s", e.Key, e.Expected, e.Found, e.Stored.ID, e.Key, e.Stored.ID)
}

// OwnedError reports a state that is another tenant's. It is neither read nor written.
type OwnedError struct {
	Key Key
	// Where it is: the Secret, or a version.
	Where string
	// Scope is whose it is.
	Scope scope.Scope
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("use the state of %s: %s belongs to tenant %q, and the stack to tenant %q. Nothing was read or changed. "+
		"Choose another workspace or spec.backendConfig.secretSuffix, or, if the state is the stack's, mend the label %s of that Secret",
		e.Key, e.Where, e.Scope, e.Key.Scope, scope.Label)
}

// Owned says whether a tenant's label on a state's Secret is another one than the key's. A Secret without one, and a
// stack that is nobody's, are no matter of tenants.
func (k Key) Owned(labels map[string]string) error {
	return k.owned("Secret "+k.Namespace+"/"+k.SecretName(), scope.Of(labels))
}

func (k Key) owned(where string, by scope.Scope) error {
	if k.Scope.Excludes(by) {
		return &OwnedError{Key: k, Where: where, Scope: by}
	}
	return nil
}

// Lasting says whether a state cannot be read, and reading it again will not help: it is damaged, gone or another
// tenant's.
func Lasting(err error) bool {
	var corrupt *CorruptError
	var vanished *VanishedError
	var owned *OwnedError
	return errors.As(err, &corrupt) || errors.As(err, &vanished) || errors.As(err, &owned)
}

// Unreadable is Lasting, or the API does not let us read the state. Callers that want the state only as evidence go on
// without it.
func Unreadable(err error) bool { return Lasting(err) || apierrors.IsForbidden(err) }

// LockedError reports a lock in other hands.
type LockedError struct {
	Key  Key
	Info LockInfo
	// Action is what was attempted, such as "lock".
	Action string
}

func (e *LockedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: state locked by %s", e.Action, e.Key, e.Info.who())
	if !e.Info.Created.IsZero() {
		fmt.Fprintf(&b, " since %s", e.Info.Created.UTC().Format(time.RFC3339))
	}
	if e.Info.Operation != "" {
		fmt.Fprintf(&b, " for %s", printable(e.Info.Operation))
	}
	fmt.Fprintf(&b, " (lock %s).\nAnother run may be writing it. If that run is gone:\n    yuba force-unlock %s %s",
		printable(e.Info.ID), e.Key, shellWord(e.Info.ID))
	return b.String()
}
