// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

// definitions is the number of application kinds.
const definitions = 20

// applicationSchema is the schema of each kind, with texts as real ones have.
const applicationSchema = `{"type":"object","required":["bucketName"],"properties":{
"bucketName":{"type":"string","maxLength":40,"description":"The name of the bucket, as it is in URLs. It cannot be changed later."},
"size":{"type":"integer","default":3,"minimum":1,"description":"How many copies are kept."},
"storageClass":{"type":"string","enum":["standard","archive"],"default":"standard","description":"Whether objects are read often."},
"labels":{"type":"object","additionalProperties":{"type":"string"},"description":"Labels for the bill."}}}`

// applications are a Yuba with application kinds.
type applications struct {
	*bench
	yuba   *yuba
	client client.WithWatch
	raw    rest.Interface
}

// connect starts a Yuba, or starts it again.
func (a *applications) connect(ctx context.Context, directory string) (err error) {
	if a.yuba, err = a.start(ctx, directory); err != nil {
		return err
	}
	if a.client, err = kubetest.Client(a.yuba.kubeconfig()); err != nil {
		return err
	}
	a.raw, err = newRaw(a.yuba.kubeconfig())
	return err
}

// measureApplications measures what application kinds cost beyond the stacks of their instances.
func (b *bench) measureApplications(ctx context.Context) error {
	with, without := &applications{bench: b}, &applications{bench: b}
	more, err := with.memory(ctx, "applications", with.fill, with.measureQuiet)
	if err != nil {
		return err
	}
	less, err := without.memory(ctx, "stacks", without.fillStacks, nil)
	if err != nil {
		return err
	}
	b.results = append(b.results, result{Name: "applications-memory", Unit: "MB", Trials: 1, Value: more - less,
		What: fmt.Sprintf("idle memory for %d instances of %d definitions, in addition to that with their stacks alone (%.0f)", b.instances, definitions, less)})
	return (&applications{bench: b}).measureStart(ctx)
}

// memory fills a Yuba, starts it again, and returns its idle memory. Then it measures more.
func (a *applications) memory(ctx context.Context, name string, fill, more func(context.Context) error) (mb float64, err error) {
	directory := a.directory(name)
	if err := a.connect(ctx, directory); err != nil {
		return 0, err
	}
	err = a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err == nil {
		err = fill(ctx)
	}
	if err := errors.Join(err, a.yuba.stop()); err != nil {
		return 0, err
	}
	if err := a.connect(ctx, directory); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.yuba.stop()) }()
	if err := pause(ctx, a.settle); err != nil {
		return 0, err
	}
	server, err := memoryOf(a.yuba.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	runner, err := memoryOf(a.yuba.runner)
	if err == nil && more != nil {
		err = more(ctx)
	}
	return float64(server.plus(runner).proportional) / 1e6, err
}

func kindOf(n int) string { return fmt.Sprintf("Bucket%02d", n) }

// definition declares a kind. Its stacks have a source that does not exist, so that no run takes memory,
// unless there is a program.
func applicationDefinition(n int, program string) *appv1.ApplicationDefinition {
	lower := strings.ToLower(kindOf(n))
	d := &appv1.ApplicationDefinition{ObjectMeta: metav1.ObjectMeta{Name: lower}}
	d.Spec.Application = appv1.Application{Kind: kindOf(n), Plural: lower + "s", Singular: lower, OpenAPISchema: applicationSchema}
	t := &appv1.TerraformBackend{Prefix: lower + "-", ApprovePlan: appv1.ApproveAuto}
	if program != "" {
		t.Inline = map[string]string{"main.tf": program}
	} else {
		t.SourceRef, t.Path = &appv1.SourceReference{Kind: "GitRepository", Name: "none"}, "bucket"
	}
	d.Spec.Backend = &appv1.Backend{Type: appv1.BackendTerraform, Terraform: t}
	limit := intstr.FromString("10%")
	d.Spec.Rollout = &appv1.Rollout{MaxUnavailable: &limit}
	return d
}

func application(kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"bucketName": name}}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// declare creates a definition, and waits until its kind is served.
func (a *applications) declare(ctx context.Context, d *appv1.ApplicationDefinition) error {
	if err := a.client.Create(ctx, d); err != nil {
		return err
	}
	return a.until(ctx, "the kind of "+d.Name, func() (bool, error) {
		err := a.client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return err == nil && d.Status.Rollout != nil, err
	})
}

// until waits for something.
func (a *applications) until(ctx context.Context, what string, done func() (bool, error)) error {
	deadline, cancel := context.WithTimeout(ctx, 5*patience)
	defer cancel()
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		if err := pause(deadline, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
	}
}

// fill makes all definitions and instances, and waits for their stacks and statuses.
func (a *applications) fill(ctx context.Context) error {
	for n := range definitions {
		if err := a.declare(ctx, applicationDefinition(n, "")); err != nil {
			return err
		}
	}
	// The client learned the API's kinds before these were there.
	var err error
	if a.client, err = kubetest.Client(a.yuba.kubeconfig()); err != nil {
		return err
	}
	for i := range a.instances {
		o := application(kindOf(i%definitions), fmt.Sprintf("photos-%04d", i))
		if err := a.until(ctx, o.GetName(), func() (bool, error) { return a.client.Create(ctx, o) == nil, nil }); err != nil {
			return err
		}
	}
	return a.until(ctx, "all instances", func() (bool, error) {
		var stacks infrav1.TerraformList
		if err := a.client.List(ctx, &stacks, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		var all appv1.ApplicationDefinitionList
		err := a.client.List(ctx, &all)
		sum := 0
		for _, d := range all.Items {
			sum += int(d.Status.Instances)
		}
		return len(stacks.Items) == a.instances && sum == a.instances, err
	})
}

// fillStacks makes the stacks that fill makes, without instances.
func (a *applications) fillStacks(ctx context.Context) error {
	for i := range a.instances {
		kind, name := kindOf(i%definitions), fmt.Sprintf("photos-%04d", i)
		stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.ToLower(kind) + "-" + name,
			Labels: map[string]string{appv1.LabelKind: kind, appv1.LabelGroup: appv1.InstanceVersion.Group, appv1.LabelName: name}}}
		stack.Spec = infrav1.TerraformSpec{ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: 10 * time.Minute}, DestroyResourcesOnDeletion: true,
			SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}, Path: "bucket"}
		for name, value := range map[string]string{"bucket_name": `"` + name + `"`, "size": "3", "storage_class": `"standard"`} {
			stack.Spec.Vars = append(stack.Spec.Vars, infrav1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: []byte(value)}})
		}
		if err := a.client.Create(ctx, stack); err != nil {
			return err
		}
	}
	return nil
}

// measureQuiet changes a definition so that nothing that is rendered changes, and counts writes of
// instances and their stacks.
func (a *applications) measureQuiet(ctx context.Context) error {
	before, err := readWrites(ctx, a.raw)
	if err != nil {
		return err
	}
	d := &appv1.ApplicationDefinition{}
	if err := a.client.Get(ctx, client.ObjectKey{Name: strings.ToLower(kindOf(0))}, d); err != nil {
		return err
	}
	d.Spec.Application.OpenAPISchema = strings.Replace(applicationSchema, "Labels for the bill.", "Labels on the bill.", 1)
	if err := a.client.Update(ctx, d); err != nil {
		return err
	}
	began := time.Now()
	err = a.until(ctx, "the rollout", func() (bool, error) {
		err := a.client.Get(ctx, client.ObjectKeyFromObject(d), d)
		return err == nil && d.Status.Rollout != nil && d.Status.Rollout.Revision == 2 && d.Status.Rollout.Phase == appv1.RolloutComplete, err
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	after, err := readWrites(ctx, a.raw)
	if err != nil {
		return err
	}
	count := 0
	for what, n := range after.since(before) {
		if strings.Contains(what, " bucket") || strings.Contains(what, " terraforms") {
			count += n
		}
	}
	a.results = append(a.results, result{Name: "applications-quiet", Value: float64(count), Trials: 1,
		What: fmt.Sprintf("a definition's change that alters nothing rendered: writes of its %d instances and their stacks (complete after %.1f s)", a.instances/definitions, took.Seconds())})
	return nil
}

// measureStart compares the time until a run starts: of an instance, and of a stack.
func (a *applications) measureStart(ctx context.Context) (err error) {
	if err := a.connect(ctx, a.directory("starts")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.yuba.stop()) }()
	if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	text := program(1)
	for _, name := range []string{"bucket_name", "size", "storage_class", "labels"} {
		text += fmt.Sprintf("\nvariable %q {\n  type    = any\n  default = null\n}\n", name)
	}
	if err := a.declare(ctx, applicationDefinition(0, text)); err != nil {
		return err
	}
	if a.client, err = kubetest.Client(a.yuba.kubeconfig()); err != nil {
		return err
	}
	s := &stacks{bench: a.bench, yuba: a.yuba, client: a.client}
	started := func(t *infrav1.Terraform) bool { return t.Status.CurrentRun != nil }
	var instances, own []time.Duration
	for trial := range a.trials + 1 {
		name := fmt.Sprintf("trial-%d", trial)
		stack := newStack(name, 1)
		stack.Spec.Inline["main.tf"] = text
		took, err := s.changeAndAwait(ctx, name, func() error { return a.client.Create(ctx, stack) }, started)
		if err != nil {
			return err
		}
		also, err := s.changeAndAwait(ctx, strings.ToLower(kindOf(0))+"-"+name, func() error { return a.client.Create(ctx, application(kindOf(0), name)) }, started)
		if err != nil {
			return err
		}
		if trial > 0 {
			own, instances = append(own, took), append(instances, also)
		}
	}
	more := (spreadOf(milliseconds(instances)).Median - spreadOf(milliseconds(own)).Median) / 1000
	a.results = append(a.results, result{Name: "applications-start", Unit: "s", Value: more, Yuba: spreadOf(milliseconds(instances)), Trials: a.trials,
		What: fmt.Sprintf("from the creation of an instance until its run starts, over that of a stack (%.0f ms)", spreadOf(milliseconds(own)).Median)})
	return nil
}
