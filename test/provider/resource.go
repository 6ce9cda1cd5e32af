// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/yuba-dev/yuba/test/provider/remote"
)

// objectResource is yubatest_object.
type objectResource struct{ cloud *remote.Cloud }

var _ resource.ResourceWithImportState = &objectResource{}

// object is a yubatest_object.
type object struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	Content  types.String `tfsdk:"content"`
	Secret   types.String `tfsdk:"secret"`
	Revision types.Int64  `tfsdk:"revision"`
}

// take copies the cloud's response. The cloud never returns a secret, so the one in the state
// stays.
func (o *object) take(name string, from remote.Object) {
	o.ID, o.Name = types.StringValue(name), types.StringValue(name)
	o.Content, o.Revision = types.StringValue(from.Content), types.Int64Value(from.Revision)
}

func (*objectResource) Metadata(_ context.Context, q resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = q.ProviderTypeName + "_object"
}

func (*objectResource) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":       schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"name":     schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"content":  schema.StringAttribute{Required: true},
		"secret":   schema.StringAttribute{Optional: true, Sensitive: true},
		"revision": schema.Int64Attribute{Computed: true},
	}}
}

func (o *objectResource) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	o.cloud, _ = q.ProviderData.(*remote.Cloud) // nil before the provider is configured
}

func (o *objectResource) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var planned object
	if r.Diagnostics.Append(q.Plan.Get(ctx, &planned)...); r.Diagnostics.HasError() {
		return
	}
	if err := put(ctx, &planned, o.cloud.Create); err != nil {
		r.Diagnostics.AddError("Create object "+planned.Name.ValueString(), err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, planned)...)
}

func (o *objectResource) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var planned object
	if r.Diagnostics.Append(q.Plan.Get(ctx, &planned)...); r.Diagnostics.HasError() {
		return
	}
	if err := put(ctx, &planned, o.cloud.Update); err != nil {
		r.Diagnostics.AddError("Update object "+planned.Name.ValueString(), err.Error())
		return
	}
	r.Diagnostics.Append(r.State.Set(ctx, planned)...)
}

func put(ctx context.Context, planned *object, by func(context.Context, string, remote.Object) (remote.Object, error)) error {
	name := planned.Name.ValueString()
	made, err := by(ctx, name, remote.Object{Content: planned.Content.ValueString(), Secret: planned.Secret.ValueString()})
	if err == nil {
		planned.take(name, made)
	}
	return err
}

func (o *objectResource) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var known object
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	name := known.ID.ValueString()
	found, err := o.cloud.Get(ctx, name)
	switch {
	case errors.Is(err, remote.ErrNotFound):
		r.State.RemoveResource(ctx)
	case err != nil:
		r.Diagnostics.AddError("Read object "+name, err.Error())
	default:
		known.take(name, found)
		r.Diagnostics.Append(r.State.Set(ctx, known)...)
	}
}

func (o *objectResource) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var known object
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	if err := o.cloud.Delete(ctx, known.Name.ValueString()); err != nil {
		r.Diagnostics.AddError("Delete object "+known.Name.ValueString(), err.Error())
	}
}

// ImportState imports an object by its name.
func (*objectResource) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
