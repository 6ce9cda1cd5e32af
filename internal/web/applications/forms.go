// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/web/applications/form"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// sheet is the data of a form.
type sheet struct {
	Kind, Describes string
	Namespace, Name string
	Controls        []form.Control
	Problem         string
	Tried           bool
	Result          string
	Approval        string
	TryAt           string
	Save            site.Button
	UID, Generation string
	// Longest is how long a name may be.
	Longest int
	Changes bool
}

// known are a definition and what its form is created from.
type known struct {
	*appv1.ApplicationDefinition
	fields []schema.Field
}

func (p pages) known(r *site.Request) (known, error) {
	d, err := p.definition(r)
	if err != nil {
		return known{}, err
	}
	s, list := schema.Parse(d.Spec.Application.OpenAPISchema)
	if err := list.Err(); err != nil {
		return known{}, site.Conflict("There is no form for "+d.Spec.Application.Kind+": its schema cannot be read.", err.Error())
	}
	return known{d, s.Fields(boardOf(d).KeysOrder)}, nil
}

// blank is the form for a new instance.
func (p pages) blank(r *site.Request) (*site.Page, error) {
	k, err := p.known(r)
	if err != nil {
		return nil, err
	}
	v := k.sheet(r, url.Values{"namespace": {r.URL.Query().Get("namespace")}}, nil)
	return k.page(v), nil
}

// change is the form of an instance.
func (p pages) change(r *site.Request) (*site.Page, error) {
	k, err := p.known(r)
	if err != nil {
		return nil, err
	}
	o, err := instance(r, k.ApplicationDefinition)
	if err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(o.Object, "spec")
	if err != nil {
		return nil, fmt.Errorf("read the spec of %s/%s: %w", o.GetNamespace(), o.GetName(), err)
	}
	values := form.Values(k.fields, spec)
	values.Set("namespace", o.GetNamespace())
	values.Set("name", o.GetName())
	values.Set("uid", string(o.GetUID()))
	values.Set("generation", strconv.FormatInt(o.GetGeneration(), 10))
	return k.page(k.sheet(r, values, nil)), nil
}

// sheet is the form with the values that a person sees or has written.
func (k known) sheet(r *site.Request, values url.Values, problems map[string]string) *sheet {
	a := k.Spec.Application
	v := &sheet{Kind: a.Kind, Describes: boardOf(k.ApplicationDefinition).Description, Namespace: values.Get("namespace"), Name: values.Get("name"),
		UID: values.Get("uid"), Generation: values.Get("generation"), Controls: form.Controls(k.fields, values, problems), Approval: approvalOf(k.ApplicationDefinition),
		TryAt: site.Path("applications", a.Plural, "try"), Longest: appv1.MaxName - overhead(k.ApplicationDefinition)}
	v.Changes = v.UID != ""
	right := mayCreate(k.ApplicationDefinition, v.Namespace)
	v.Save = site.Button{Label: "Create", Address: site.Path("applications", a.Plural, "create")}
	if v.Changes {
		v.Save.Label, right.Verb = "Save", "update"
	}
	if v.Namespace != "" { // without one, nobody knows yet
		v.Save = r.Allow(v.Save, right)
	}
	return v
}

// overhead is how many characters the names of objects have besides the instance's name. A composition has
// ids behind it, too.
func overhead(d *appv1.ApplicationDefinition) int {
	if parsed, _ := definition.Parse(d); parsed != nil {
		return parsed.Overhead()
	}
	return len(d.Prefix()) // its kind is served as it was before
}

func (k known) page(v *sheet) *site.Page {
	e := entryOf(k.ApplicationDefinition)
	title, more := "New "+v.Kind, []site.Link{{Text: e.Called, Address: e.Address}}
	if v.Changes {
		title = "Change " + v.Kind + " " + v.Namespace + "/" + v.Name
		more = append(more, site.Link{Text: v.Namespace + "/" + v.Name, Address: addressOf(k.ApplicationDefinition, v.Namespace, v.Name)})
	}
	return &site.Page{Title: title, Section: Section, Trail: trail(more...), Commands: []string{"yuba definition example " + k.Name + " | yuba kubectl apply -f -"},
		Parts: []site.Part{{ID: "form", View: "applications-form", Data: v}}}
}

// approvalOf says what happens with the plans of instances.
func approvalOf(d *appv1.ApplicationDefinition) string {
	if d.Spec.Backend == nil || d.Spec.Backend.Terraform == nil {
		return ""
	}
	switch d.Spec.Backend.Terraform.ApprovePlan {
	case appv1.ApproveAuto:
		return "It is planned, and the plan is applied by itself."
	case appv1.ApprovePolicy:
		return "It is planned, and the plan is applied if policies free it. Otherwise it waits for approval."
	}
	return "It is planned, and nothing is made before somebody has approved the plan."
}

// try asks the API server what it makes of a form, and stores nothing.
func (p pages) try(r *site.Request) (*site.Page, error) {
	k, err := p.known(r)
	if err != nil {
		return nil, err
	}
	o, problems := k.written(r.PostForm)
	v := k.sheet(r, r.PostForm, problems)
	if len(problems) > 0 {
		v.Problem = "Some fields could not be read. Nothing was stored."
		return k.page(v), nil
	}
	if err := k.store(r, o, client.DryRunAll); err != nil {
		var refused *site.Refusal
		switch {
		case errors.As(err, &refused):
			v.Problem = refused.Says + " " + refused.Hint
		case apierrors.IsInternalError(err), apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
			return nil, err
		default:
			v.Problem = err.Error()
		}
		return k.page(v), nil
	}
	v.Tried = true
	if v.Result, err = specText(o); err != nil {
		return nil, err
	}
	return k.page(v), nil
}

// create stores what a person wrote.
func (p pages) create(r *site.Request) (site.Done, error) {
	k, err := p.known(r)
	if err != nil {
		return site.Done{}, err
	}
	o, problems := k.written(r.PostForm)
	for path, problem := range problems {
		return site.Done{}, site.BadRequest("Nothing was stored: "+path+" could not be read. "+problem, "")
	}
	if err := k.store(r, o); err != nil {
		return site.Done{}, err
	}
	says := "%s %s/%s is being created."
	if r.PostForm.Get("uid") != "" {
		says = "%s %s/%s is being changed."
	}
	return site.Done{Says: fmt.Sprintf(says, k.Spec.Application.Kind, o.GetNamespace(), o.GetName()), Next: addressOf(k.ApplicationDefinition, o.GetNamespace(), o.GetName())}, nil
}

// written is the instance that a person wrote.
func (k known) written(values url.Values) (*unstructured.Unstructured, map[string]string) {
	spec, problems := form.Read(k.fields, values)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(appv1.InstanceVersion.WithKind(k.Spec.Application.Kind))
	o.SetNamespace(values.Get("namespace"))
	o.SetName(values.Get("name"))
	o.SetUID(types.UID(values.Get("uid")))
	return o, problems
}

// store creates the instance, or replaces the spec of exactly the version that the person saw.
func (k known) store(r *site.Request, o *unstructured.Unstructured, dry ...client.CreateOption) error {
	if o.GetNamespace() == "" || o.GetName() == "" {
		return &site.Refusal{Code: http.StatusBadRequest, Says: "Nothing was stored: an object needs a namespace and a name."}
	}
	if o.GetUID() == "" {
		return r.As.Objects.Create(r.Context(), o, append(dry, client.FieldOwner(manager))...)
	}
	// The metadata of others stay as they are: only the spec is replaced.
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(o.GroupVersionKind())
	if err := r.As.Objects.Get(r.Context(), client.ObjectKeyFromObject(o), now); err != nil {
		return err
	}
	if now.GetUID() != o.GetUID() {
		return site.Conflict("Nothing was stored: this is another object of the same name.", "Look at it first.")
	}
	// Only a change of the spec moves the generation; its status moves all the time.
	if strconv.FormatInt(now.GetGeneration(), 10) != r.PostForm.Get("generation") {
		return site.Conflict("Nothing was stored: somebody has changed it since you opened the form.", "Open the form again.")
	}
	now.Object["spec"] = o.Object["spec"]
	options := []client.UpdateOption{client.FieldOwner(manager)}
	if len(dry) > 0 {
		options = append(options, client.DryRunAll)
	}
	if err := r.As.Objects.Update(r.Context(), now, options...); err != nil {
		return err
	}
	o.Object = now.Object
	return nil
}

// manager owns the fields that people write on the page.
const manager = "yuba-web"
