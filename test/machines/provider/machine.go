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

// machineResource is machines_machine.
type machineResource struct{ cloud *cloud }

type machine struct {
	ID       types.String `tfsdk:"id"`
	Name     types.String `tfsdk:"name"`
	Network  types.String `tfsdk:"network"`
	Address  types.String `tfsdk:"address"`
	UserData types.String `tfsdk:"user_data"`
}

type wireMachine struct {
	Network  string `json:"network"`
	Address  string `json:"address"`
	UserData string `json:"userData,omitempty"`
	State    string `json:"state,omitempty"`
}

func (*machineResource) Metadata(_ context.Context, q resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = q.ProviderTypeName + "_machine"
}

func (*machineResource) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": told("The name."), "name": fixed("The name."), "network": fixed("The name of its network."), "address": fixed("Its address there."),
		"user_data": schema.StringAttribute{Required: true, Sensitive: true, Description: "Its cloud-config, which it reads once.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
	}}
}

func (m *machineResource) Configure(_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	m.cloud, _ = q.ProviderData.(*cloud) // nil before the provider is configured
}

func (m *machineResource) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var planned machine
	if r.Diagnostics.Append(q.Plan.Get(ctx, &planned)...); r.Diagnostics.HasError() {
		return
	}
	name := planned.Name.ValueString()
	given := wireMachine{Network: planned.Network.ValueString(), Address: planned.Address.ValueString(), UserData: planned.UserData.ValueString()}
	if err := m.cloud.do(ctx, http.MethodPut, "machines", name, given, nil); err != nil {
		r.Diagnostics.AddError("Create machine "+name, err.Error())
		return
	}
	planned.ID = planned.Name
	r.Diagnostics.Append(r.State.Set(ctx, planned)...)
}

// Update is never called: a change of any argument replaces the machine.
func (*machineResource) Update(_ context.Context, _ resource.UpdateRequest, r *resource.UpdateResponse) {
	r.Diagnostics.AddError("Update machine", "Machines cannot change. This is a bug of the provider.")
}

// Read takes a machine that does not run for one that is gone: its first process cannot start again.
func (m *machineResource) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var known machine
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	var found wireMachine
	err := m.cloud.do(ctx, http.MethodGet, "machines", known.ID.ValueString(), nil, &found)
	switch {
	case errors.Is(err, errNotFound), err == nil && found.State != "running":
		r.State.RemoveResource(ctx)
	case err != nil:
		r.Diagnostics.AddError("Read machine "+known.ID.ValueString(), err.Error())
	default:
		known.Name, known.Network, known.Address = known.ID, types.StringValue(found.Network), types.StringValue(found.Address)
		r.Diagnostics.Append(r.State.Set(ctx, known)...)
	}
}

func (m *machineResource) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var known machine
	if r.Diagnostics.Append(q.State.Get(ctx, &known)...); r.Diagnostics.HasError() {
		return
	}
	if err := m.cloud.do(ctx, http.MethodDelete, "machines", known.ID.ValueString(), nil, nil); err != nil && !errors.Is(err, errNotFound) {
		r.Diagnostics.AddError("Delete machine "+known.ID.ValueString(), err.Error())
	}
}

// ImportState imports a machine by its name. Its user data stays unknown, so the configuration must ignore it.
func (*machineResource) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
