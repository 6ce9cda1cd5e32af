// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/yuba-dev/yuba/test/provider/remote"
)

type yubatest struct{}

func newProvider() provider.Provider { return yubatest{} }

// config is the provider's block. The environment replaces missing values.
type config struct {
	Endpoint types.String `tfsdk:"endpoint"`
	Token    types.String `tfsdk:"token"`
}

// The environment variables that replace missing values of the block.
const (
	envEndpoint = "YUBATEST_ENDPOINT"
	envToken    = "YUBATEST_TOKEN"
)

func (yubatest) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = "yubatest"
}

func (yubatest) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"endpoint": schema.StringAttribute{Optional: true, Description: "Where the cloud is; else " + envEndpoint + "."},
		"token":    schema.StringAttribute{Optional: true, Sensitive: true, Description: "What lets us in; else " + envToken + "."},
	}}
}

func (yubatest) Configure(ctx context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	var c config
	if r.Diagnostics.Append(q.Config.Get(ctx, &c)...); r.Diagnostics.HasError() {
		return
	}
	cloud := remote.New(orEnv(c.Endpoint, envEndpoint), orEnv(c.Token, envToken))
	r.ResourceData, r.DataSourceData = cloud, cloud
}

func orEnv(value types.String, name string) string {
	if s := value.ValueString(); s != "" {
		return s
	}
	return os.Getenv(name)
}

func (yubatest) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &objectResource{} }}
}

func (yubatest) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &objectData{} }}
}
