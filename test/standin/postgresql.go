// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "net"

// postgresql is cyrilgdn/postgresql. The cloud is at its host and port.
var postgresql = table{
	source: "cyrilgdn/postgresql",
	arguments: map[string]attribute{
		"host":            optional(text),
		"port":            optional(whole),
		"database":        optional(text),
		"username":        optional(text),
		"password":        optional(text).secret(),
		"sslmode":         optional(text),
		"superuser":       optional(flag),
		"connect_timeout": optional(whole),
	},
	access: func(a texts) (string, string, error) {
		port := a["port"]
		if port == "" {
			port = "5432"
		}
		return "http://" + net.JoinHostPort(a["host"], port), a["password"], nil
	},
	kinds: map[string]kind{
		"postgresql_role": {attributes: map[string]attribute{
			"id":          told("{name}"),
			"name":        required(text),
			"login":       optional(flag),
			"password":    optional(text).secret(),
			"search_path": optional(textList),
		}},
		"postgresql_schema": {attributes: map[string]attribute{
			"id":           told("{database}.{name}"),
			"name":         required(text),
			"database":     optional(text).or("{provider.database}").fixed(),
			"owner":        optional(text).or("{provider.username}"),
			"drop_cascade": optional(flag),
		}},
		"postgresql_grant": {attributes: map[string]attribute{
			"id":          told("{role}_{database}_{schema}_{object_type}"),
			"role":        required(text).fixed(),
			"database":    required(text).fixed(),
			"schema":      optional(text).fixed(),
			"object_type": required(text).fixed(),
			"privileges":  required(textSet),
		}},
	},
}
