// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

func TestUpgradeOnInit(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*infrav1.Terraform)
		want   bool
	}{
		"another revision":   {func(o *infrav1.Terraform) { o.Status.LastPlannedRevision = "before" }, true},
		"another generation": {func(o *infrav1.Terraform) { o.Status.LastPlannedGeneration = 1 }, true},
		"nothing new":        {func(*infrav1.Terraform) {}, false},
		"another revision, never upgrade": {func(o *infrav1.Terraform) {
			o.Status.LastPlannedRevision, o.Spec.UpgradeOnInit = "before", ptr.To(false)
		}, false},
		"another revision, always upgrade": {func(o *infrav1.Terraform) {
			o.Status.LastPlannedRevision, o.Spec.UpgradeOnInit = "before", ptr.To(true)
		}, true},
	} {
		obj := stackObject(func(o *infrav1.Terraform) {
			o.Generation, o.Status.LastPlannedGeneration, o.Status.LastPlannedRevision = 2, 2, "now"
			test.change(o)
		})
		p := passOver(obj)
		p.config, p.facts.Source.Revision = configurationOf(t, obj), "now"
		if got, err := runDraftsOf(&Reconciler{}).spec(t.Context(), &p.gathered); err != nil || got.Upgrade != test.want {
			t.Errorf("%s: upgrades %v, %v", sentence, got.Upgrade, err)
		}
	}
}

func TestReadyRecoversWhenInputsReturn(t *testing.T) {
	for _, c := range []struct {
		reason, lastRun string
		want            bool
	}{
		{infrav1.ReasonTemplateGenerationFailed, "failed", true}, {infrav1.ReasonInitFailed, "succeeded", true}, {infrav1.ReasonNewFailed, "succeeded", true},
		{infrav1.ReasonPlanFailed, "succeeded", true}, {infrav1.ReasonPlanFailed, "failed", false}, {infrav1.ReasonApplyFailed, "succeeded", false},
	} {
		obj := stackObject()
		obj.Status.LastRun = &infrav1.RunReference{Status: c.lastRun}
		setReady(obj, metav1.ConditionFalse, c.reason, "something is missing")
		p := passOver(obj)
		p.facts.Source.Revision = "main@sha1:1"
		describeRest(&p.decided)
		if mended := conditions.Of(obj, infrav1.ConditionReady).Status == metav1.ConditionTrue; mended != c.want {
			t.Errorf("%s after a run that %s: fixed %v", c.reason, c.lastRun, mended)
		}
	}
}

func TestRecordsContainNoSecrets(t *testing.T) {
	rec := run.Record{Spec: run.Spec{Secrets: []string{"s3cr3t"}, CLIConfig: []byte("s3cr3t"), Files: []run.File{{Content: []byte("s3cr3t")}},
		Backend: run.Backend{Settings: map[string]string{"a": "s3cr3t"}}}}
	public, err := json.Marshal(rec.Public())
	if err != nil || bytes.Contains(public, []byte("s3cr3t")) || bytes.Contains(public, []byte("czNjcjN0")) {
		t.Errorf("%s %v", public, err)
	}
}

// configurationOf is the configuration of a stack with an inline program that does nothing.
func configurationOf(t *testing.T, of *infrav1.Terraform) *reads.Configuration {
	t.Helper()
	obj := of.DeepCopy()
	obj.Spec.Inline = map[string]string{"main.tf": "locals {}\n"}
	prog, err := newSources(t).Find(t.Context(), obj, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := reads.Configure(obj, prog, &inputs.Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newSources has sources on a blob store in a directory.
func newSources(t *testing.T) *reads.Sources {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	store, err := blob.Open(t.Context(), "file://"+t.TempDir(), identity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &reads.Sources{Store: store, MaxArchive: 1 << 20}
}

func TestMessagesAboutInvalidInputs(t *testing.T) {
	for _, passing := range []bool{true, false} {
		p := passOver(stackObject())
		if err := p.conclude(nil, &reads.Problem{Reason: infrav1.ReasonInitFailed, Message: "broken", Passing: passing}); err != nil {
			t.Fatal(err)
		}
		if want := (decide.Inputs{Problem: "broken", Reason: infrav1.ReasonInitFailed, Lasting: !passing}); p.facts.Inputs != want {
			t.Errorf("%+v", p.facts.Inputs)
		}
	}
	p := passOver(stackObject(ofAcme))
	obj := p.obj
	obj.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "beta"}}
	_, err := reads.Rules{}.Resolve(t.Context(), foreignSecret{}, obj)
	if err := p.conclude(nil, err); err != nil {
		t.Fatal(err)
	}
	if in := p.facts.Inputs; in.Ready || in.Reason != infrav1.ReasonAccessDenied || !strings.Contains(in.Problem, `belongs to tenant "beta"`) {
		t.Errorf("the facts are %+v", in)
	}
}

// foreignSecret has one Secret, of the tenant beta.
type foreignSecret struct{ inputs.Getter }

func (foreignSecret) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{tenantv1.LabelUID: "beta"}}, Data: map[string][]byte{"a": []byte("1")}}, nil
}
