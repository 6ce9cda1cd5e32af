// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// action does something with a stack as it is now.
type action func(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error)

// actions are the verbs by their path.
var actions = map[string]action{
	"cancel": cancel, "unlock": unlock, "acknowledge": acknowledge, "destroy": destroy, "delete": remove, "rollback": rollback,
}

func init() {
	for _, v := range acts.Verbs() {
		actions[string(v)] = do(v)
	}
}

// act makes an action of the site.
func (p pages) act(do action) site.Action {
	return func(r *site.Request) (site.Done, error) {
		key := keyOf(r)
		for try := 0; ; try++ {
			var t infrav1.Terraform
			err := r.As.Objects.Get(r.Context(), key, &t)
			if apierrors.IsNotFound(err) {
				return site.Done{}, site.NotFound(fmt.Sprintf("Nothing was done: there is no stack %s any more.", key), "Load the page again to see what became of it.")
			}
			if err != nil {
				return site.Done{}, err
			}
			done, err := do(r, key, &t)
			// Somebody, or the server, has changed the object meanwhile. Whether what the person saw still
			// holds is decided anew.
			if !errors.Is(err, errChanged) {
				return done, err
			}
			if try == maxTries {
				return done, site.Conflict(fmt.Sprintf("Nothing was done: %s is being changed all the time.", key), "Try again.")
			}
		}
	}
}

// maxTries limits how often an action begins again because the object changes.
const maxTries = 5

// errChanged marks conflicts of the object itself.
var errChanged = errors.New("the stack has changed")

// patch changes a stack. With only it does so if it is as it was read.
func patch(r *site.Request, t *infrav1.Terraform, c verbs.Change, only bool) error {
	if only {
		c = c.If(t.ResourceVersion)
	}
	err := acts.Patch(r, t, c)
	if apierrors.IsConflict(err) {
		return errors.Join(err, errChanged)
	}
	return err
}

// refused turns the refusal of a verb into an answer.
func refused(what string, err error) error {
	var why *verbs.Refusal
	if !errors.As(err, &why) {
		return err
	}
	return site.Conflict(fmt.Sprintf("%s: %s.", what, strings.TrimSuffix(why.Says, ".")), "Look at the stack again.")
}

// do does what the inbox and the list of stacks do with many, with one stack. A decision is about exactly
// the plan that the person saw.
func do(v acts.Verb) action {
	return func(r *site.Request, key types.NamespacedName, _ *infrav1.Terraform) (site.Done, error) {
		row := acts.Row{Namespace: key.Namespace, Name: key.Name, Plan: r.PostFormValue("plan"), Digest: r.PostFormValue("digest")}
		says, err := acts.Do(r, v, row, r.PostFormValue("comment"))
		return site.Done{Says: says}, err
	}
}

// cancel cancels the run that the person saw.
func cancel(r *site.Request, key types.NamespacedName, _ *infrav1.Terraform) (site.Done, error) {
	id := r.PostFormValue("run")
	if id == "" {
		return site.Done{}, site.BadRequest("Nothing was cancelled: the form names no run.", "")
	}
	rec, err := r.As.Content.Cancel(r.Context(), key.Namespace, key.Name, id)
	switch {
	case apierrors.IsNotFound(err):
		return site.Done{}, site.Conflict("Nothing was cancelled: "+err.Error()+".", "It has ended.")
	case err != nil:
		return site.Done{}, err
	case rec.Result != nil:
		return site.Done{Says: fmt.Sprintf("Run %s has ended: %s.", id, endOf(rec.Result))}, nil
	}
	return site.Done{Says: fmt.Sprintf("Run %s is being cancelled.", id)}, nil
}

// endOf says how a run ended.
func endOf(r *run.Result) string {
	switch {
	case r.Class != run.FailureCanceled:
		return string(r.Outcome)
	case r.ApplyStarted:
		return "cancelled in the middle of its apply"
	}
	return "cancelled, nothing was changed"
}

// unlock releases the lock that the person saw.
func unlock(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error) {
	id := r.PostFormValue("lock")
	if id == "" {
		return site.Done{}, site.BadRequest("Nothing was unlocked: the form names no lock.", "")
	}
	if t.KeepsOwnState() {
		rec, err := r.As.Content.BreakLock(r.Context(), key.Namespace, key.Name, id)
		if err != nil {
			return site.Done{}, err
		}
		return site.Done{Says: fmt.Sprintf("Run %s breaks the lock of %s.", rec.Spec.ID, key)}, nil
	}
	if err := r.As.Content.Unlock(r.Context(), key.Namespace, key.Name, id); err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: fmt.Sprintf("The state of %s is unlocked.", key)}, nil
}

// acknowledge takes the unproven resources that the person saw off the list.
func acknowledge(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error) {
	last := r.PostFormValue("run")
	if last == "" {
		return site.Done{}, site.BadRequest("Nothing was acknowledged: the form names no run.", "")
	}
	_, upTo, err := verbs.Acknowledgeable(t, last, nil)
	if err != nil {
		return site.Done{}, refused("Nothing was acknowledged", err)
	}
	return site.Done{Says: fmt.Sprintf("The unproven resources of %s are acknowledged.", key)}, patch(r, t, verbs.Acknowledge(t, upTo, nil), false)
}

// meant checks what a person typed, and that the stack is the one that they saw.
func meant(r *site.Request, t *infrav1.Terraform, nothing string) error {
	switch {
	case r.PostFormValue("typed") != t.Name:
		return site.BadRequest(nothing+": type the name of the stack, "+t.Name+", to confirm it.", "")
	case r.PostFormValue("uid") != string(t.UID):
		return site.Conflict(nothing+": this is another stack of the same name.", "Look at it first.")
	case r.PostFormValue("generation") != fmt.Sprint(t.Generation):
		return site.Conflict(nothing+": somebody has changed the stack since you looked at it.", "Look at it again.")
	}
	return nil
}

func destroy(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error) {
	if err := meant(r, t, "Nothing was destroyed"); err != nil {
		return site.Done{}, err
	}
	says := fmt.Sprintf("The destruction of everything that %s manages is being planned. The plan waits for approval.", key)
	if verbs.DestroysAtOnce(t) {
		says = fmt.Sprintf("Everything that %s manages is being destroyed.", key)
	}
	return site.Done{Says: says}, patch(r, t, verbs.Destroy(verbs.NewRequest(r.Now)), true)
}

func remove(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error) {
	if err := meant(r, t, "Nothing was deleted"); err != nil {
		return site.Done{}, err
	}
	this := client.Preconditions{UID: &t.UID}
	if err := r.As.Objects.Delete(r.Context(), t, this, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: strings.TrimSpace(fmt.Sprintf("%s is being deleted. %s", key, verbs.StaysBehind(t))), Next: section}, nil
}

// rollback makes a version of the state the current one, and asks for a plan that shows how the real
// infrastructure and the program differ from it.
func rollback(r *site.Request, key types.NamespacedName, t *infrav1.Terraform) (site.Done, error) {
	const nothing = "Nothing was rolled back"
	version, current := r.PostFormValue("version"), r.PostFormValue("current")
	if version == "" {
		return site.Done{}, site.BadRequest(nothing+": the form names no version.", "")
	}
	versions, err := r.As.Content.Versions(r.Context(), key.Namespace, key.Name)
	if err != nil {
		return site.Done{}, err
	}
	if len(versions.Items) > 0 && versions.Items[0].ID != current {
		return site.Done{}, site.Conflict(nothing+": the state has a newer version than you saw.", "Compare it again.")
	}
	done, err := r.As.Content.Rollback(r.Context(), key.Namespace, key.Name, version)
	if err != nil {
		return site.Done{}, err
	}
	says := fmt.Sprintf("The state of %s is that of version %s again, as version %s (serial %d).", key, done.From.ID, done.To.ID, done.To.Serial)
	return site.Done{Says: says + planned(key, patch(r, t, verbs.Replan(verbs.NewRequest(r.Now)), false))}, nil
}

// planned says what became of the request for a plan after a roll back. The state is what it is now, also
// if there is no plan.
func planned(key types.NamespacedName, err error) string {
	if err != nil {
		return fmt.Sprintf(" A fresh plan could not be requested: %s. Request one: yuba replan %s", strings.TrimSuffix(err.Error(), "."), key)
	}
	return " A fresh plan is requested."
}
