// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"
	"testing"
)

func TestAddressesWithoutCredentials(t *testing.T) {
	const digest = unknown
	for _, c := range []struct{ name, value, want string }{
		{"key", "a/b.tfstate", "a/b.tfstate"},
		{"key", "team@a/b.tfstate", "team@a/b.tfstate"},
		{"host", "cluster.example.com:6443", "cluster.example.com:6443"},
		{"address", "https://u:hidden@states.example.com/a?token=hidden", "https://states.example.com/a"},
		{"address", "https://states.example.com:8443/a", "https://states.example.com:8443/a"},
		{"address", "u:hidden@consul.example.com:8500", digest},
		{"address", "consul.example.com:8500?token=hidden", digest},
		{"endpoint", "http://[::1", digest},
		{"conn_str", "postgres://u:hidden@db:5432/states?sslmode=disable", "postgres://db:5432/states"},
		{"conn_str", "postgres://u:hid@den@db/states", "postgres://db/states"},
		{"conn_str", "postgres://u:hidden@one:5432,two:5432/states", "postgres://one:5432,two:5432/states"},
		{"conn_str", "postgres://u:hidden@/states?host=pg", "host=pg,dbname=states"},
		{"conn_str", "postgresql:///states?host=/run/postgresql&password=hidden", "host=/run/postgresql,dbname=states"},
		{"conn_str", "postgres:///?host=%2Frun%2Fpg&port=5433&dbname=states&user=u&password=hidden", "host=/run/pg,port=5433,dbname=states"},
		{"conn_str", "postgres://u:hidden@/states", "dbname=states"},
		{"conn_str", "postgres://db:5433?dbname=states&password=hidden", "host=db,port=5433,dbname=states"},
		{"conn_str", "postgres://db/states?password=hidden", "postgres://db/states"},
		{"conn_str", "postgres://u:hidden@db/states?host=other", digest},
		{"conn_str", "postgres://u:hidden@/states?host=a&host=b", digest},
		{"conn_str", "postgres://u:hidden@db/states?dbname=other", digest},
		{"conn_str", "postgres://u:hidden@/states?host=u:hidden@db", digest},
		{"conn_str", "postgres:///?dbname=postgres://u:hidden%40db/states", digest},
		{"conn_str", "postgres:///?sslmode=disable&password=hidden", digest},
		{"conn_str", "postgres://", digest},
		{"conn_str", "host=db password=hidden host=other dbname=states", digest},
		{"conn_str", "postgres://u:hid den@db/states", digest},
		{"conn_str", "postgres://u:hid%zzden@db/states", digest},
		{"conn_str", "postgres://u:hid/den@db/states", digest},
		{"conn_str", "postgres://u:12/hidden@db/states", digest},
		{"conn_str", "postgres://u:12?hidden@db/states", digest},
		{"conn_str", "postgres://u:12#hidden@db/states", digest},
		{"conn_str", "host=db user=yuba password=hidden dbname=states", "host=db,dbname=states"},
		{"conn_str", "dbname=states password=hidden host=db", "host=db,dbname=states"},
		{"conn_str", "host = db password = hidden port=5433", "host=db,port=5433"},
		{"conn_str", "host=db password='hid den dbname=hidden' dbname=states", "host=db,dbname=states"},
		{"conn_str", `host=db password='hid\'den' dbname=states`, "host=db,dbname=states"},
		{"conn_str", `host=db password=hid\ dbname=hidden dbname=states`, "host=db,dbname=states"},
		{"conn_str", "host=/run/postgresql dbname=states", "host=/run/postgresql,dbname=states"},
		{"conn_str", "host=db password= dbname=hidden", "host=db"},
		{"conn_str", "host=db password=hid den dbname=states", digest},
		{"conn_str", "host=db password='hidden dbname=states", digest},
		{"conn_str", "host=db password='hid'den dbname=states", digest},
		{"conn_str", "host=u:hidden@db dbname=states", digest},
		{"conn_str", "dbname=postgres://u:hidden@db/states", digest},
		{"conn_str", "dbname='password=hidden'", digest},
		{"conn_str", "user=yuba password=hidden", digest},
		{"conn_str", "host=db password= dbname='hidden'", digest},
		{"conn_str", "hidden", digest},
	} {
		got := bare(c.name, c.value)
		if got != c.want || got != digest && strings.Contains(got, "hid") {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
	// A password is not a place: neither what is understood nor what is not may depend on it.
	for _, format := range []string{"postgres://u:%s@db/states", "postgres://u:%s@/states?host=pg", "postgres://u:%s/x@db/states", "host=db password=%s dbname=states",
		"host=db password='%s dbname=states", "%s"} {
		if one, two := bare("conn_str", fmt.Sprintf(format, "aaa")), bare("conn_str", fmt.Sprintf(format, "bbb")); one != two {
			t.Errorf("%s: %s and %s", format, one, two)
		}
	}
}
