// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	contracts "github.com/yuba-dev/yuba/internal/contracts/controller"
	"github.com/yuba-dev/yuba/internal/contracts/document"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// outputsName stands for a contract where outputs are kept as revisions, so that they have numbers, and
// digests of sensitive ones are keyed. They belong to the bridge.
const outputsName = "outputs"

// everyOutput selects all outputs.
const everyOutput = "*"

func ofOutputs(b *yubav1.ContractBridge) bool { return len(b.Spec.Outputs) > 0 }

// keepsRevisions reports whether revisions are stored for a bridge.
func keepsRevisions(b *yubav1.ContractBridge) bool {
	return b.Spec.Direction == yubav1.BridgeIn || ofOutputs(b)
}

// subject names what a bridge writes.
func subject(b *yubav1.ContractBridge, version string) string {
	switch {
	case ofOutputs(b):
		return "the outputs of " + producerOf(b).String()
	case version != "":
		return "contract " + b.Spec.Contract + " " + version
	}
	return "contract " + b.Spec.Contract
}

func hasPrivate(b *yubav1.ContractBridge) string {
	if ofOutputs(b) {
		return subject(b, "") + " have"
	}
	return subject(b, "") + " has"
}

// selects is the field that selects what a bridge writes.
func selects(b *yubav1.ContractBridge) string {
	if ofOutputs(b) {
		return "outputs"
	}
	return "reads"
}

// read finds what a bridge out writes.
func (r *Reconciler) read(ctx context.Context, b *yubav1.ContractBridge) (*contracts.Reading, error) {
	if !ofOutputs(b) {
		return r.Book.Read(ctx, want(b))
	}
	t, missing, err := r.stack(ctx, b)
	if err != nil || missing != "" {
		return r.before(ctx, b, missing, err)
	}
	all, err := r.Outputs(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("read the outputs of %s: %w", producerOf(b), err)
	}
	if len(all) == 0 { // the document stays, rather than become empty
		return r.before(ctx, b, fmt.Sprintf("the stack %s has no outputs, or they cannot be read without tofu", producerOf(b)), nil)
	}
	value, private, missing, err := selected(b, all)
	if err != nil || missing != "" {
		return r.before(ctx, b, missing, err)
	}
	of := revisions.Producer{Stack: string(b.UID), Contract: outputsName}
	revision, _, err := r.Book.Store.Publish(ctx, of, value, private, revisions.Revision{Version: outputsName, PublishedAt: r.Now().UTC(),
		Run: t.Status.LastAppliedRun, SourceRevision: t.Status.LastAppliedRevision})
	if err != nil {
		return nil, err
	}
	history, err := r.Book.Store.History(ctx, of)
	return &contracts.Reading{Number: revision.Number, Digest: revision.Digest, Value: value, Private: private, History: history}, err
}

// before is a reading without a value: what was written before stays.
func (r *Reconciler) before(ctx context.Context, b *yubav1.ContractBridge, missing string, err error) (*contracts.Reading, error) {
	if err != nil {
		return nil, err
	}
	history, err := r.Book.Store.History(ctx, revisions.Producer{Stack: string(b.UID), Contract: outputsName})
	return &contracts.Reading{Missing: missing, History: history}, err
}

// stack reads the stack whose outputs a bridge writes, or says why it cannot have them.
func (r *Reconciler) stack(ctx context.Context, b *yubav1.ContractBridge) (t *infrav1.Terraform, missing string, err error) {
	name := producerOf(b)
	t = &infrav1.Terraform{}
	err = r.Client.Get(ctx, name, t, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", fmt.Errorf("read stack %s: %w", name, err)
	}
	granted := err == nil
	if name.Namespace != b.Namespace {
		if granted, err = r.grants(ctx, t, b.Namespace); err != nil {
			return nil, "", err
		}
		if !granted { // who may not read it does not learn whether it exists
			return nil, fmt.Sprintf("the stack %s does not exist, or does not grant its outputs to namespace %s (spec.outputGrants)", name, b.Namespace), nil
		}
	}
	switch {
	case apierrors.IsNotFound(err) || !granted:
		return nil, fmt.Sprintf("the stack %s does not exist", name), nil
	case scope.Of(b.Labels).Excludes(scope.Of(t.Labels)):
		return nil, fmt.Sprintf("the stack %s belongs to another tenant", name), nil
	case t.Status.OutputsDigest == "":
		return nil, fmt.Sprintf("the stack %s has no outputs yet", name), nil
	}
	return t, "", nil
}

// grants reports whether bridges of a namespace may read the outputs of a stack.
func (r *Reconciler) grants(ctx context.Context, t *infrav1.Terraform, namespace string) (bool, error) {
	var all []yubav1.ContractGrant
	for _, g := range t.Spec.OutputGrants {
		all = append(all, yubav1.ContractGrant(g))
	}
	return r.Book.GrantedBy(ctx, all, namespace)
}

// selected is the object of the outputs that a bridge names.
func selected(b *yubav1.ContractBridge, all map[string]json.RawMessage) (value cty.Value, private bool, missing string, err error) {
	names := b.Spec.Outputs
	if slices.Contains(names, everyOutput) {
		names = slices.Sorted(maps.Keys(all))
	}
	members := map[string]cty.Value{}
	for _, name := range names {
		text, found := all[name]
		if !found {
			return cty.NilVal, false, fmt.Sprintf("the stack %s has no output %q", producerOf(b), name), nil
		}
		o, err := document.Published(text)
		if err != nil {
			return cty.NilVal, false, "", fmt.Errorf("output %s of %s: %w", name, producerOf(b), err)
		}
		members[name], private = o.Value, private || o.Sensitive
	}
	return cty.ObjectVal(members), private, "", nil
}
