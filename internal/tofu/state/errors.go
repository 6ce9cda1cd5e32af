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

// ErrNoVersion means that a state does not have a version with the requested id. Test with
// errors.Is.
var ErrNoVersion = errors.New("no such version")

// CorruptError means that bytes are not a state. They are left unchanged.
type CorruptError struct {
	Key Key
	// Where names the place of the bytes: the Secret, a version, or the state to write.
	Where string
	// Offered is true for bytes to write: nothing was stored.
	Offered bool
	Err     error
}

func (e *CorruptError) Error() string {
	if e.Offered {
		return fmt.Sprintf("write the state of %s: %s is not a state: %v. Nothing was changed", e.Key, e.Where, e.Err)
	}
	return fmt.Sprintf("read the state of %s: %s is not a state: %v.\n"+
		"Nothing was changed. Find an intact version and roll back to it, or restore a backup of Yuba if there is none:\n"+
		"    yuba state history %s\n    yuba state rollback %s VERSION", e.Key, e.Where, e.Err, e.Key, e.Key)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// VanishedError means that a state that existed is missing.
type VanishedError struct {
	Key Key
	// Newest is the newest stored version; nil if there is none: then the stack is known to have
	// been applied.
	Newest *Version
	// Emptied is true if the Secret exists without a state.
	Emptied bool
}

func (e *VanishedError) Error() string {
	text := fmt.Sprintf("read the state of %s: %s", e.Key, e.what())
	if e.Newest == nil {
		return text + ", but the stack has been applied before, and no version of its state is stored.\n" +
			"Without it tofu would create everything a second time. Restore the Secret from a backup."
	}
	return text + fmt.Sprintf(", the newest stored version is %s of %s.\n"+
		"Without it tofu would create everything a second time. Restore it:\n    yuba state rollback %s %s\n"+
		"Or, if none of its resources exist any more, start with an empty state:\n    yuba state drop %s",
		e.Newest.ID, e.Newest.Time.Format(time.RFC3339), e.Key, e.Newest.ID, e.Key)
}

// what describes what is missing.
func (e *VanishedError) what() string {
	what := "is gone"
	if e.Emptied {
		what = "no longer contains a state"
	}
	return fmt.Sprintf("Secret %s/%s %s", e.Key.Namespace, e.Key.SecretName(), what)
}

// Destroying explains that the resources to destroy are unknown. keep is the command that deletes
// the stack and keeps its resources.
func (e *VanishedError) Destroying(keep string) string {
	text := fmt.Sprintf("destroy what %s manages: %s, and with it the list of resources to destroy", e.Key, e.what())
	if e.Newest == nil {
		text += ". No version of it is stored: restore the Secret from a backup."
	} else {
		text += fmt.Sprintf(". The newest stored version is %s of %s. To destroy the resources in it:\n    yuba state rollback %s %s",
			e.Newest.ID, e.Newest.Time.Format(time.RFC3339), e.Key, e.Newest.ID)
	}
	return text + "\nTo delete the stack and keep its resources:\n    " + keep
}

// ConflictError means that another writer changed the state in between. The new state is stored as
// a version.
type ConflictError struct {
	Key Key
	// Expected is the state that the writer started from, Found the one in the Secret.
	Expected, Found Mark
	// Stored is the version with the new state.
	Stored Version
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("write the state of %s: another writer changed it from %s to %s during the run.\n"+
		"The Secret was not changed; the run's state is stored as version %s. If that is the right one:\n"+
		"    yuba state rollback %s %s", e.Key, e.Expected, e.Found, e.Stored.ID, e.Key, e.Stored.ID)
}

// OwnedError means that a state belongs to another tenant. It is neither read nor written.
type OwnedError struct {
	Key Key
	// Where names the place: the Secret, or a version.
	Where string
	// Scope is the tenant that it belongs to.
	Scope scope.Scope
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("use the state of %s: %s belongs to tenant %q, but the stack belongs to tenant %q. Nothing was read or changed. "+
		"Choose another workspace or spec.backendConfig.secretSuffix, or, if the state belongs to the stack, correct the label %s of that Secret",
		e.Key, e.Where, e.Scope, e.Key.Scope, scope.Label)
}

// Owned returns an error if the tenant label of a state's Secret differs from the key's tenant. It
// ignores Secrets without the label, and stacks without a tenant.
func (k Key) Owned(labels map[string]string) error {
	return k.owned("Secret "+k.Namespace+"/"+k.SecretName(), scope.Of(labels))
}

func (k Key) owned(where string, by scope.Scope) error {
	if k.Scope.Excludes(by) {
		return &OwnedError{Key: k, Where: where, Scope: by}
	}
	return nil
}

// Lasting reports whether reading a state fails permanently: it is damaged, gone or another
// tenant's.
func Lasting(err error) bool {
	var corrupt *CorruptError
	var vanished *VanishedError
	var owned *OwnedError
	return errors.As(err, &corrupt) || errors.As(err, &vanished) || errors.As(err, &owned)
}

// Unreadable reports whether Lasting is true, or the API denies reading the state. Callers that
// want the state only as evidence continue without it.
func Unreadable(err error) bool { return Lasting(err) || apierrors.IsForbidden(err) }

// LockedError means that another holder has the lock.
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
	if e.Info.Operation == OperationRefactor {
		fmt.Fprintf(&b, " (lock %s).\nThe refactoring releases it by itself, also after a restart of the server. See how far it is:\n    yuba refactor show %s -n %s",
			printable(e.Info.ID), shellWord(e.Info.ID), e.Key.Namespace)
		return b.String()
	}
	fmt.Fprintf(&b, " (lock %s).\nAnother run may be writing it. If that run is gone:\n    yuba force-unlock %s %s",
		printable(e.Info.ID), e.Key, shellWord(e.Info.ID))
	return b.String()
}
