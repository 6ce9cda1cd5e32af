// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/yuba-dev/yuba/test/provider/remote"
)

// objectData is the data source yubatest_object.
type objectData struct{ cloud *remote.Cloud }

// found contains its attributes.
type found struct {
	Name     types.String `tfsdk:"name"`
	Content  types.String `tfsdk:"content"`
	Revision types.Int64  `tfsdk:"revision"`
}

func (*objectData) Metadata(_ context.Context, q datasource.MetadataRequest, r *datasource.MetadataResponse) {
	r.TypeName = q.ProviderTypeName + "_object"
}

func (*objectData) Schema(_ context.Context, _ datasource.SchemaRequest, r *datasource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name":     schema.StringAttribute{Required: true},
		"content":  schema.StringAttribute{Computed: true},
		"revision": schema.Int64Attribute{Computed: true},
	}}
}

func (d *objectData) Configure(_ context.Context, q datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	d.cloud, _ = q.ProviderData.(*remote.Cloud) // nil before the provider is configured
}

func (d *objectData) Read(ctx context.Context, q datasource.ReadRequest, r *datasource.ReadResponse) {
	var f found
	if r.Diagnostics.Append(q.Config.Get(ctx, &f)...); r.Diagnostics.HasError() {
		return
	}
	o, err := d.cloud.Get(ctx, f.Name.ValueString())
	if err != nil {
		r.Diagnostics.AddError("Read object "+f.Name.ValueString(), err.Error())
		return
	}
	f.Content, f.Revision = types.StringValue(o.Content), types.Int64Value(o.Revision)
	r.Diagnostics.Append(r.State.Set(ctx, f)...)
}
