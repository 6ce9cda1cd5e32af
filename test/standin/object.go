// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/yuba-dev/yuba/test/provider/remote"
)

// object is a resource type. Its objects are in the cloud as TYPE:ID.
type object struct {
	name    string
	kind    kind
	session *session
}

func (o *object) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = o.name
}

func (o *object) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = resourceSchema(o.kind)
}

func (o *object) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.session, _ = q.ProviderData.(*session) // nil before the provider is configured
}

func (o *object) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	made, err := o.write(ctx, q.Plan, true)
	if err != nil {
		r.Diagnostics.AddError("Create "+o.name, err.Error())
		return
	}
	r.State.Raw = made
}

func (o *object) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	made, err := o.write(ctx, q.Plan, false)
	if err != nil {
		r.Diagnostics.AddError("Update "+o.name, err.Error())
		return
	}
	r.State.Raw = made
}

// write stores the planned values in the cloud and returns them with the cloud's response.
func (o *object) write(ctx context.Context, plan tfsdk.Plan, create bool) (tftypes.Value, error) {
	var none tftypes.Value
	planned, err := fieldsOf(plan.Raw)
	if err != nil {
		return none, err
	}
	if err := o.kind.refuse(planned); err != nil {
		return none, err
	}
	if err := o.kind.complete(planned, o.session.arguments); err != nil {
		return none, err
	}
	if o.session.cloud != nil {
		if err := o.put(ctx, planned, create); err != nil {
			return none, err
		}
	}
	return tftypes.NewValue(plan.Raw.Type(), map[string]tftypes.Value(planned)), nil
}

func (o *object) put(ctx context.Context, f fields, create bool) error {
	name := o.nameOf(f)
	if create {
		_, err := o.session.cloud.Get(ctx, name)
		if err == nil {
			return fmt.Errorf("%s exists already", name)
		}
		if !errors.Is(err, remote.ErrNotFound) {
			return err
		}
	}
	content, secret, err := o.kind.content(f)
	if err != nil {
		return err
	}
	_, err = o.session.cloud.Update(ctx, name, remote.Object{Content: content, Secret: secret})
	return err
}

func (o *object) nameOf(f fields) string { return o.name + ":" + textOf(plain(f["id"])) }

// Read reports whether the object still exists. Its attributes come from the state.
func (o *object) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	if o.session.cloud == nil {
		return
	}
	known, err := fieldsOf(q.State.Raw)
	if err == nil {
		_, err = o.session.cloud.Get(ctx, o.nameOf(known))
	}
	switch {
	case errors.Is(err, remote.ErrNotFound):
		r.State.RemoveResource(ctx)
	case err != nil:
		r.Diagnostics.AddError("Read "+o.name, err.Error())
	}
}

func (o *object) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	if o.session.cloud == nil {
		return
	}
	known, err := fieldsOf(q.State.Raw)
	if err == nil {
		err = o.session.cloud.Delete(ctx, o.nameOf(known))
	}
	if err != nil {
		r.Diagnostics.AddError("Delete "+o.name, err.Error())
	}
}

// refuse returns the real service's error for the values.
func (k kind) refuse(f fields) error {
	given := textsOf(f)
	for _, r := range k.refuses {
		if r.value.MatchString(given[r.attribute]) {
			return fmt.Errorf("%s: %s", r.attribute, r.message)
		}
	}
	return nil
}

// content is an object as stored in the cloud: a readable and a secret part.
func (k kind) content(f fields) (readable, secret string, err error) {
	open, closed := map[string]any{}, map[string]any{}
	for name, value := range f {
		if k.attributes[name].sensitive {
			closed[name] = plain(value)
		} else {
			open[name] = plain(value)
		}
	}
	a, err := json.Marshal(open)
	if err != nil {
		return "", "", err
	}
	b, err := json.Marshal(closed)
	return string(a), string(b), err
}
