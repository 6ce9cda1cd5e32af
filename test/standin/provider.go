// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/yuba-dev/yuba/test/provider/remote"
)

// standin is the provider of one table.
type standin struct {
	name  string
	table table
}

// session is a configured provider: the values of its block, and the cloud, if it uses one.
type session struct {
	arguments texts
	cloud     *remote.Cloud
}

func (s *standin) Metadata(_ context.Context, _ provider.MetadataRequest, r *provider.MetadataResponse) {
	r.TypeName = s.name
}

func (s *standin) Schema(_ context.Context, _ provider.SchemaRequest, r *provider.SchemaResponse) {
	r.Schema = argumentSchema(s.table.arguments)
}

func (s *standin) Configure(_ context.Context, q provider.ConfigureRequest, r *provider.ConfigureResponse) {
	given, err := fieldsOf(q.Config.Raw)
	if err != nil {
		r.Diagnostics.AddError("Read the block of the provider", err.Error())
		return
	}
	configured := &session{arguments: textsOf(given)}
	if s.table.access != nil {
		endpoint, token, err := s.table.access(configured.arguments)
		if err != nil {
			r.Diagnostics.AddError("Configure the provider "+s.name, err.Error())
			return
		}
		configured.cloud = remote.New(endpoint, token)
	}
	r.ResourceData = configured
}

func (s *standin) Resources(context.Context) []func() resource.Resource {
	var out []func() resource.Resource
	for _, name := range slices.Sorted(maps.Keys(s.table.kinds)) {
		out = append(out, func() resource.Resource {
			o := &object{name: name, kind: s.table.kinds[name]}
			if s.table.imports {
				return &importable{o}
			}
			return o
		})
	}
	return out
}

func (s *standin) DataSources(context.Context) []func() datasource.DataSource {
	var out []func() datasource.DataSource
	for _, name := range slices.Sorted(maps.Keys(s.table.data)) {
		out = append(out, func() datasource.DataSource { return &source{name: name, kind: s.table.data[name]} })
	}
	return out
}

// importable is an object that can be imported by its id.
type importable struct{ *object }

func (importable) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	resource.ImportStatePassthroughID(ctx, path.Root("id"), q, r)
}
