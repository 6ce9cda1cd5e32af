// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// ensureOutputs updates the outputs Secret after a run, and when it was changed or removed.
func (o outputsWriter) ensureOutputs(ctx context.Context, p *acted) error {
	obj := p.obj
	if err := o.retireOutputs(ctx, obj); err != nil {
		return err
	}
	if !outputsMatter(&p.decided) {
		return nil
	}
	outputs, known, err := o.readOutputs(ctx, &p.pass)
	if err != nil {
		return outputsFailed(obj, infrav1.ReasonOutputFailed, err)
	}
	if !known {
		return nil // keep the Secret that another controller wrote
	}
	obj.Status.AvailableOutputs = slices.Sorted(maps.Keys(outputs))
	obj.Status.OutputsDigest = outputsDigest(obj, outputs)
	want := obj.Spec.WriteOutputsToSecret
	if want == nil || obj.Spec.Destroy {
		if outputsHadFailed(obj) {
			setReady(obj, metav1.ConditionTrue, infrav1.ReasonOutputsAvailable, at(infrav1.MessageOutputsAvailable, revisionOfOutputs(obj)))
		}
		outputsAvailable(obj)
		return nil
	}
	data, err := outputData(want.Outputs, outputs)
	if err == nil {
		err = fitsIntoSecret(obj, data)
	}
	if err != nil {
		return outputsFailed(obj, infrav1.ReasonOutputsWritingFailed, err)
	}
	changed, err := o.writeOutputs(ctx, &p.collected, data, openCandidates(want.Outputs, outputs))
	if err != nil && mayPass(err) {
		return err
	}
	if err != nil {
		return outputsFailed(obj, infrav1.ReasonOutputsWritingFailed, err)
	}
	if len(data) > 0 {
		obj.Status.OutputsSecret = want.Name
	}
	// Without drift nothing was written, and Ready says NoDrift.
	drift := conditions.Of(obj, infrav1.ConditionReady).Reason != infrav1.ReasonNoDrift
	if changed || p.ended != nil && drift || outputsHadFailed(obj) {
		outputsWritten(obj, changed)
	}
	if changed {
		p.notes = append(p.notes, note{reason: infrav1.ReasonOutputsWritten, action: "WriteOutputs",
			message: fmt.Sprintf("Outputs written.\n%d output(s): %s", len(data), strings.Join(slices.Sorted(maps.Keys(data)), ", "))})
	}
	return nil
}

// retireOutputs deletes the former outputs Secret when another one, or none, is wanted.
func (o outputsWriter) retireOutputs(ctx context.Context, obj *infrav1.Terraform) error {
	had := obj.Status.OutputsSecret
	if obj.Spec.WriteOutputsToSecret == nil {
		obj.Status.OpenOutputsDigest = ""
	}
	if want := obj.Spec.WriteOutputsToSecret; had == "" || want != nil && want.Name == had {
		return nil
	}
	if err := o.deleteOutputs(ctx, obj, had); err != nil {
		return err
	}
	obj.Status.OutputsSecret = ""
	return nil
}

// outputsDigest changes with any output. The stack salts it, so equal passwords do not show.
func outputsDigest(obj *infrav1.Terraform, outputs map[string]statefile.PrintedOutput) string {
	h := sha256.New()
	fmt.Fprintf(h, "yuba outputs 1 %s\n", obj.Salt())
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		o := outputs[name]
		fmt.Fprintf(h, "%q %q %q\n", name, o.Type, o.Value)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// hasOutputs reports whether there may be outputs: the stack was applied, or a plan found no
// changes to a state that is older than the object.
func hasOutputs(obj *infrav1.Terraform) bool {
	plan := conditions.Of(obj, infrav1.ConditionPlan)
	return obj.Status.LastAppliedRevision != "" || plan.Status == metav1.ConditionFalse && plan.Reason == infrav1.ReasonPlannedNoChanges
}

// outputsMatter reports whether to read the outputs: after an apply, and to check the Secret.
func outputsMatter(p *decided) bool {
	obj, d := p.obj, p.decision
	if p.facts.Stack.Deleting || !hasOutputs(obj) || d.Verb == decide.VerbAwaitRun || p.facts.StateProblem != "" || p.noState != nil {
		return false
	}
	missing := p.ended != nil && (obj.Status.AvailableOutputs == nil || obj.Status.OutputsDigest == "")
	return p.movedState() || missing || obj.Spec.WriteOutputsToSecret != nil && !d.Verb.StartsRun()
}

// readOutputs reads the outputs from the state, or, if only tofu can read it, from tofu's output
// after the last apply. They are unknown if tofu did not print them.
func (o outputsWriter) readOutputs(ctx context.Context, p *pass) (outputs map[string]statefile.PrintedOutput, known bool, err error) {
	if !p.obj.KeepsOwnState() {
		snapshot, err := o.states.Read(ctx, stateKeyOf(p.obj))
		if err != nil {
			return nil, false, err
		}
		if snapshot.Data == nil {
			return nil, true, nil
		}
		if !snapshot.Encrypted {
			file, err := statefile.Parse(snapshot.Data)
			if err != nil {
				return nil, false, err
			}
			outputs, err = file.PrintedOutputs()
			return outputs, err == nil, err
		}
	}
	if p.obj.Status.LastAppliedRun == "" {
		return nil, false, nil
	}
	rec, err := o.runs.Record(ctx, p.stack, p.obj.Status.LastAppliedRun)
	if errors.Is(err, run.ErrNotFound) || err == nil && (rec.Result == nil || len(rec.Result.Outputs) == 0) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	outputs, err = statefile.ParsePrinted(rec.Result.Outputs)
	return outputs, err == nil, err
}

// splitAlias splits an entry of spec.writeOutputsToSecret.outputs: `name`, or `name:alias`.
func splitAlias(wanted string) (name, alias string) {
	name, alias, _ = strings.Cut(wanted, ":")
	if alias == "" {
		alias = name
	}
	return name, alias
}

// outputData selects outputs as spec.writeOutputsToSecret.outputs says; all when it is empty. As
// with tofu-controller, values other than strings come with their type.
func outputData(wanted []string, outputs map[string]statefile.PrintedOutput) (map[string][]byte, error) {
	if len(wanted) == 0 {
		wanted = slices.Sorted(maps.Keys(outputs))
	}
	data := map[string][]byte{}
	var unknown []string
	for _, w := range wanted {
		name, alias := splitAlias(w)
		output, ok := outputs[name]
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		data[alias] = output.Value
		if !output.IsString {
			data[alias+"__type"] = output.Type
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("write outputs: the module has no output named %s; it has %s",
			strings.Join(unknown, ", "), strings.Join(slices.Sorted(maps.Keys(outputs)), ", "))
	}
	return data, nil
}

// foreignSecretError means that the Secret is not the stack's.
type foreignSecretError struct{ namespace, name, owner string }

func (e *foreignSecretError) Error() string {
	return fmt.Sprintf("write outputs to Secret %s/%s: it exists and belongs to %s. "+
		"Nothing was overwritten. Choose another name in spec.writeOutputsToSecret, or delete that Secret", e.namespace, e.name, e.owner)
}

// writeOutputs creates or updates the Secret, and reports whether its data had to change.
// Candidates are the keys that may be noted as open.
func (o outputsWriter) writeOutputs(ctx context.Context, p *collected, data map[string][]byte, candidates []string) (bool, error) {
	obj, want := p.obj, p.obj.Spec.WriteOutputsToSecret
	secret, labels := &corev1.Secret{}, merged(want.Labels, scope.Of(obj.Labels).Labels())
	name := types.NamespacedName{Namespace: obj.Namespace, Name: want.Name}
	err := o.reader.Get(ctx, name, secret)
	missing := apierrors.IsNotFound(err)
	switch {
	case missing && len(data) == 0:
		return false, nil
	case missing:
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: obj.Namespace, Name: want.Name}}
	case err != nil:
		return false, fmt.Errorf("write outputs to Secret %s: %w", name, err)
	case !metav1.IsControlledBy(secret, obj):
		return false, &foreignSecretError{obj.Namespace, want.Name, ownerOf(secret)}
	}
	annotations, err := o.outputAnnotations(ctx, p, secret, data, candidates)
	if err != nil {
		return false, err
	}
	same := !missing && maps.EqualFunc(secret.Data, data, bytes.Equal) && contains(secret.Labels, labels) && contains(secret.Annotations, want.Annotations)
	written := same && contains(secret.Annotations, annotations)
	if err := o.seal(ctx, &p.pass, annotations[infrav1.OpenOutputsAnnotation], !written); err != nil || written {
		return false, err
	}
	secret.Data = data
	secret.Labels, secret.Annotations = merged(secret.Labels, labels), merged(secret.Annotations, annotations)
	if !missing {
		err = o.client.Update(ctx, secret)
	} else if err = controllerutil.SetControllerReference(obj, secret, o.client.Scheme()); err == nil {
		err = o.client.Create(ctx, secret)
	}
	if err != nil {
		return false, fmt.Errorf("write outputs to Secret %s: %w", name, err)
	}
	return !same, nil
}

func ownerOf(secret *corev1.Secret) string {
	if owner := metav1.GetControllerOf(secret); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	return "an unknown owner"
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

func merged(have, want map[string]string) map[string]string {
	if len(want) == 0 {
		return have
	}
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, want)
	return out
}

func outputsAvailable(obj *infrav1.Terraform) {
	if len(obj.Status.AvailableOutputs) == 0 {
		conditions.Remove(obj, infrav1.ConditionOutput)
		return
	}
	setCondition(obj, infrav1.ConditionOutput, metav1.ConditionTrue, infrav1.ReasonOutputsAvailable, infrav1.MessageOutputsAvailable)
}

// revisionOfOutputs is the revision that was applied, or planned without changes.
func revisionOfOutputs(obj *infrav1.Terraform) string {
	return cmp.Or(obj.Status.LastAppliedRevision, obj.Status.LastPlannedRevision)
}

func outputsWritten(obj *infrav1.Terraform, changed bool) {
	message := infrav1.MessageOutputsWritten
	if !changed && len(obj.Status.AvailableOutputs) == 0 {
		message = infrav1.MessageNoOutputsWritten
	}
	setCondition(obj, infrav1.ConditionOutput, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, message)
	if conditions.Of(obj, infrav1.ConditionReady).Status == metav1.ConditionTrue || outputsHadFailed(obj) {
		setReady(obj, metav1.ConditionTrue, infrav1.ReasonOutputsWritten, at(message, revisionOfOutputs(obj)))
	}
}

// outputsHadFailed reports whether only the outputs keep the stack from being ready.
func outputsHadFailed(obj *infrav1.Terraform) bool {
	reason := conditions.Of(obj, infrav1.ConditionReady).Reason
	return reason == infrav1.ReasonOutputsWritingFailed || reason == infrav1.ReasonOutputFailed
}

// outputsFailed reports the error in the conditions. The apply still counts.
func outputsFailed(obj *infrav1.Terraform, reason string, err error) error {
	setCondition(obj, infrav1.ConditionOutput, metav1.ConditionFalse, reason, err.Error())
	setReady(obj, metav1.ConditionFalse, reason, err.Error())
	return nil
}

// maxOutputs is the API's limit for the data of a Secret.
const maxOutputs = corev1.MaxSecretSize

// largestNamed is how many of the largest outputs a message names.
const largestNamed = 3

// fitsIntoSecret names the largest outputs if they do not fit; the API would name none.
func fitsIntoSecret(obj *infrav1.Terraform, data map[string][]byte) error {
	total := 0
	names := make([]string, 0, len(data))
	for name, value := range data {
		total += len(value)
		names = append(names, name)
	}
	if total <= maxOutputs {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(data[b]), len(data[a])), strings.Compare(a, b))
	})
	largest := make([]string, min(len(names), largestNamed))
	for i := range largest {
		largest[i] = fmt.Sprintf("%s (%d bytes)", names[i], len(data[names[i]]))
	}
	return fmt.Errorf("write outputs to Secret %s/%s: they have %d bytes, and a Secret holds %d. The largest: %s. "+
		"Nothing was written. Name the outputs to write in spec.writeOutputsToSecret.outputs, or have the program put large values elsewhere. "+
		"`yuba outputs %s -n %s` shows all of them", obj.Namespace, obj.Spec.WriteOutputsToSecret.Name, total, maxOutputs,
		strings.Join(largest, ", "), obj.Name, obj.Namespace)
}

// mayPass reports whether an error is an outage of the API or a race, which ends without a change
// of objects. No answer counts as an outage.
func mayPass(err error) bool {
	var foreign *foreignSecretError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &foreign):
		return false
	case !errors.As(err, &status), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsUnauthorized(err)
}
