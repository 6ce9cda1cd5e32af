// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func fixed(description string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, Description: description, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
}

func told(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, Description: description, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

// networkResource is machines_network.
type networkResource struct{ cloud *cloud }

type network struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	CIDR types.String `tfsdk:"cidr"`
}

type wireNetwork struct {
	CIDR string `json:"cidr"`
}

func (*networkResource) Metadata(_ context.Context, q resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = q.ProviderTypeName + "_network"
}

func (*networkResource) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": told("The name."), "name": fixed("The name."), "cidr": fixed("A private range of IPv4, /16 to /24. The host has its first address."),
	}}
}

func (n *networkResource) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	n.cloud, _ = q.ProviderData.(*cloud) // nil before the provider is configured
}

func (n *networkResource) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var planned network
	if r.Diagnostics.Append(q.Plan.Get(ctx, &planned)...); r.Diagnostics.HasError() {
		return
	}
	name := planned.Name.ValueString()
	if err := n.cloud.do(ctx, http.MethodPut, "networks", name, wireNetwork{planned.CIDR.ValueString()}, nil); err != nil {
		r.Diagnostics.AddError("Create network "+name, err.Error())
		return
	}
	planned.ID = planned.Name
	r.Diagnostics.Append(r.State.Set(ctx, planned)...)
}

// Update is never called: a change of any argument replaces the network.
func (*networkResource) Update(_ context.Context, _ resource.UpdateRequest, r *resource.UpdateResponse) {
	r.Diagnostics.AddError("Update network", "Networks cannot change. This is a bug of the provider.")
}

func (n *networkResource) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var known network
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	var found wireNetwork
	err := n.cloud.do(ctx, http.MethodGet, "networks", known.ID.ValueString(), nil, &found)
	switch {
	case errors.Is(err, errNotFound):
		r.State.RemoveResource(ctx)
	case err != nil:
		r.Diagnostics.AddError("Read network "+known.ID.ValueString(), err.Error())
	default:
		known.Name, known.CIDR = known.ID, types.StringValue(found.CIDR)
		r.Diagnostics.Append(r.State.Set(ctx, known)...)
	}
}

func (n *networkResource) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var known network
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	if err := n.cloud.do(ctx, http.MethodDelete, "networks", known.ID.ValueString(), nil, nil); err != nil && !errors.Is(err, errNotFound) {
		r.Diagnostics.AddError("Delete network "+known.ID.ValueString(), err.Error())
	}
}

// ImportState imports a network by its name.
func (*networkResource) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
