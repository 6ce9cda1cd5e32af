// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/stack/plandiff"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// statusOf is the status of an instance. One that cannot be read is empty: it is shown as not started.
func statusOf(o *unstructured.Unstructured) (status appv1.InstanceStatus) {
	fields, _, err := unstructured.NestedMap(o.Object, "status")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) != nil {
		return appv1.InstanceStatus{}
	}
	return status
}

// stateOf is one word and one sentence for an instance.
func stateOf(o *unstructured.Unstructured, status appv1.InstanceStatus) (standing.State, string) {
	state, says := standing.OfConditions(o, status.Conditions, false)
	if status.Phase == appv1.PhaseAwaitingApproval {
		state = standing.Pending
	}
	return state, says
}

func rowOf(d *appv1.ApplicationDefinition, o *unstructured.Unstructured) row {
	status := statusOf(o)
	v := row{Namespace: o.GetNamespace(), Name: o.GetName(), Address: addressOf(d, o.GetNamespace(), o.GetName()), Created: o.GetCreationTimestamp()}
	v.State, v.Says = stateOf(o, status)
	if plan := status.Plan; plan != nil && plan.ID != "" {
		v.Plan = plan.Summary
	}
	return v
}

func addressOf(d *appv1.ApplicationDefinition, namespace, name string, more ...string) string {
	return site.Path(append([]string{"applications", d.Spec.Application.Plural, namespace, name}, more...)...)
}

// detail is the data of an instance's page.
type detail struct {
	row
	Phase   string
	Status  appv1.InstanceStatus
	Outputs []output
	Backend site.Link
	// Parts are the objects of a composition.
	Parts    []part
	Spec     string
	Change   string
	Editable site.Button
	Approve  site.Button
	// Text is the plan that waits, Cut if it is only the beginning, Unread why it cannot be shown.
	Text, Unread string
	Cut          bool
	Delete       site.Button
}

type output struct{ Name, Value string }

// part is an object of a composition.
type part struct {
	ID    string
	Link  site.Link
	State standing.State
	// Word is the state in the status, Says why it is so.
	Word, Says string
}

func (p pages) one(r *site.Request) (*site.Page, error) {
	d, err := p.definition(r)
	if err != nil {
		return nil, err
	}
	o, err := instance(r, d)
	if err != nil {
		return nil, err
	}
	v := detail{row: rowOf(d, o), Status: statusOf(o), Change: addressOf(d, o.GetNamespace(), o.GetName(), "change")}
	v.Phase = v.Status.Phase
	for _, name := range slices.Sorted(maps.Keys(v.Status.Outputs)) {
		v.Outputs = append(v.Outputs, output{name, shown(v.Status.Outputs[name].Raw)})
	}
	topics := p.objects.Topics(r.Context(), watched.ApplicationDefinitions)
	if ref := v.Status.BackendRef; ref != nil {
		v.Backend = site.Link{Text: ref.Kind + " " + ref.Name, Address: pageOf(ref.Kind, o.GetNamespace(), ref.Name)}
	}
	if len(v.Status.Resources) > 0 {
		v.Parts = p.partsOf(r, o, v.Status.Resources)
	}
	if v.Spec, err = specText(o); err != nil {
		return nil, err
	}
	if plan := v.Status.Plan; plan != nil && plan.ID != "" {
		v.Approve = approveButton(r, d, o, plan.ID)
		v.Text, v.Cut, err = planOf(r, d, o)
		v.Unread = pieces.Why(err)
	}
	right := access.Right{Verb: "update", Group: appv1.InstanceVersion.Group, Resource: d.Spec.Application.Plural, Namespace: o.GetNamespace()}
	v.Editable = r.Allow(site.Button{Label: "Change"}, right)
	right.Verb = "delete"
	v.Delete = r.Allow(site.Button{Label: "Delete", Address: addressOf(d, o.GetNamespace(), o.GetName(), "delete"), Danger: true,
		Values: []site.Value{{Name: "uid", Value: string(o.GetUID())}}, Confirm: deletionWarning(d, o)}, right)
	topics = append(topics, live.Topic{Kind: &unstructured.Unstructured{Object: map[string]any{"apiVersion": appv1.InstanceVersion.String(), "kind": d.Spec.Application.Kind}},
		Namespace: o.GetNamespace(), Name: o.GetName(), Watch: watching(r, d, o)})
	kind, name, namespace := d.Spec.Application.Singular, o.GetName(), o.GetNamespace()
	return &site.Page{Title: d.Spec.Application.Kind + " " + o.GetNamespace() + "/" + o.GetName(), Section: Section, Trail: trail(site.Link{Text: entryOf(d).Called, Address: entryOf(d).Address}),
		Commands: []string{shell.Line("yuba", "app", "why", kind, name, "-n", namespace), shell.Line("yuba", "app", "plan", kind, name, "-n", namespace),
			shell.Line("yuba", "kubectl", "get", kind, name, "-n", namespace, "-o", "yaml")},
		Parts: []site.Part{{ID: "instance", View: "applications-one", Data: v}}, Topics: topics}, nil
}

// pageOf is the page of an object behind an instance; empty if it has none.
func pageOf(kind, namespace, name string) string {
	switch kind {
	case "Terraform":
		return site.Path("stacks", namespace, name)
	case "HelmRelease":
		return site.Path("sources", "helmrelease", namespace, name)
	}
	return ""
}

// partsOf are the objects of a composition, each with its page. Instances of other kinds are found by the
// definitions that the person may see.
func (p pages) partsOf(r *site.Request, o *unstructured.Unstructured, resources []appv1.InstanceResource) (parts []part) {
	plurals := map[string]string{}
	if found, err := watched.List(r, p.objects, watched.ApplicationDefinitions); err == nil { // without the right, there are no links
		for _, d := range found.Items {
			plurals[d.Spec.Application.Kind] = d.Spec.Application.Plural
		}
	}
	for _, one := range resources {
		link := site.Link{Text: one.Kind + " " + one.Name, Address: pageOf(one.Kind, o.GetNamespace(), one.Name)}
		if plural, known := plurals[one.Kind]; known && strings.HasPrefix(one.APIVersion, appv1.InstanceVersion.Group+"/") {
			link.Address = site.Path("applications", plural, o.GetNamespace(), one.Name)
		}
		parts = append(parts, part{ID: one.ID, Link: link, State: partState(one.State), Word: one.State, Says: one.Message})
	}
	return parts
}

// partState is the colour of a state.
func partState(word string) standing.State {
	switch word {
	case appv1.PhaseReady:
		return standing.Ready
	case appv1.PhaseFailed:
		return standing.Failed
	case appv1.PhaseAwaitingApproval:
		return standing.Pending
	case appv1.PhaseDeleting:
		return standing.Deleting
	case appv1.StateWaiting:
		return standing.Waiting
	}
	return standing.Running
}

// approveButton approves exactly this plan. Users of the kind need no right to stacks.
func approveButton(r *site.Request, d *appv1.ApplicationDefinition, o *unstructured.Unstructured, plan string) site.Button {
	b := site.Button{Label: "Approve", Address: addressOf(d, o.GetNamespace(), o.GetName(), "approve"), Values: []site.Value{{Name: "plan", Value: plan}}}
	return r.Allow(b, access.Right{Verb: "create", Group: "content.yuba.dev", Resource: d.Spec.Application.Plural, Subresource: "approve", Namespace: o.GetNamespace()})
}

func contentOf(d *appv1.ApplicationDefinition, o *unstructured.Unstructured) content.Instance {
	return content.Instance{Resource: d.Spec.Application.Plural, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// planOf is the plan that waits, as text.
func planOf(r *site.Request, d *appv1.ApplicationDefinition, o *unstructured.Unstructured) (text string, cut bool, err error) {
	document, err := r.As.Content.InstancePlan(r.Context(), contentOf(d, o))
	if err != nil {
		return "", false, err
	}
	shown, err := plan.DecodeOutline(document)
	if err != nil {
		return "", false, err
	}
	return plandiff.Text(shown)
}

// approve approves the plan that the person saw.
func (p pages) approve(r *site.Request) (site.Done, error) {
	d, err := p.definition(r)
	if err != nil {
		return site.Done{}, err
	}
	o, err := instance(r, d)
	if err != nil {
		return site.Done{}, err
	}
	plan := r.PostForm.Get("plan")
	if err := r.As.Content.ApproveInstance(r.Context(), contentOf(d, o), plan, ""); err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: fmt.Sprintf("Plan %s of %s %s/%s is approved and will be applied.", plan, d.Spec.Application.Kind, o.GetNamespace(), o.GetName())}, nil
}

func deletionWarning(d *appv1.ApplicationDefinition, o *unstructured.Unstructured) string {
	return fmt.Sprintf("Delete %s %s/%s, and destroy everything that it made?", d.Spec.Application.Kind, o.GetNamespace(), o.GetName())
}

// watching watches one instance as the person.
func watching(r *site.Request, d *appv1.ApplicationDefinition, o *unstructured.Unstructured) func(context.Context) (watch.Interface, error) {
	objects, namespace, name := r.As.Objects, o.GetNamespace(), o.GetName()
	return func(ctx context.Context) (watch.Interface, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(appv1.InstanceVersion.WithKind(d.Spec.Application.Kind + "List"))
		return objects.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	}
}

// instance reads an instance as the person.
func instance(r *site.Request, d *appv1.ApplicationDefinition) (*unstructured.Unstructured, error) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(d.Spec.Application.Kind))
	err := r.As.Objects.Get(r.Context(), key, o)
	if apierrors.IsNotFound(err) {
		return nil, site.NotFound(fmt.Sprintf("There is no %s %s.", d.Spec.Application.Kind, key), "It was deleted, or never was. What was done with it: yuba audit -n "+key.Namespace)
	}
	return o, err
}

// specText is the spec as YAML.
func specText(o *unstructured.Unstructured) (string, error) {
	spec, is := o.Object["spec"]
	if !is {
		return "", nil
	}
	text, err := yaml.Marshal(spec)
	return string(text), err
}

// shown is an output for people: texts without quotes.
func shown(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// delete deletes exactly the instance that the person saw.
func (p pages) delete(r *site.Request) (site.Done, error) {
	d, err := p.definition(r)
	if err != nil {
		return site.Done{}, err
	}
	o, err := instance(r, d)
	if err != nil {
		return site.Done{}, err
	}
	uid := types.UID(r.PostForm.Get("uid"))
	if uid != o.GetUID() {
		return site.Done{}, site.Conflict("Nothing was deleted: this is another object of the same name.", "Look at it first.")
	}
	if err := r.As.Objects.Delete(r.Context(), o, client.Preconditions{UID: &uid}); err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: fmt.Sprintf("%s %s/%s is being deleted.", d.Spec.Application.Kind, o.GetNamespace(), o.GetName()), Next: entryOf(d).Address}, nil
}
