locals {
  name  = "${var.platform}-${var.region}"
  tags  = merge(var.labels, { Name = local.name })
  zones = length(var.zones) > 0 ? var.zones : ["${var.region}a"]
  # Room for more zones later, without moving those that exist.
  subnets = { for i, z in local.zones : z => cidrsubnet(var.cidr, 2, i) }
}

resource "aws_vpc" "this" {
  cidr_block           = var.cidr
  enable_dns_hostnames = true
  tags                 = local.tags
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
  tags   = local.tags
}

resource "aws_route_table" "this" {
  vpc_id = aws_vpc.this.id
  tags   = local.tags

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
}

resource "aws_subnet" "this" {
  for_each = local.subnets

  vpc_id                  = aws_vpc.this.id
  availability_zone       = each.key
  cidr_block              = each.value
  map_public_ip_on_launch = true
  tags                    = merge(local.tags, { Name = "${local.name}-${each.key}" })
}

resource "aws_route_table_association" "this" {
  for_each = local.subnets

  subnet_id      = aws_subnet.this[each.key].id
  route_table_id = aws_route_table.this.id
}

resource "aws_security_group" "this" {
  name        = local.name
  description = "Machines of the platform ${var.platform}"
  vpc_id      = aws_vpc.this.id
  tags        = local.tags

  ingress {
    description = "Each other"
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    self        = true
  }
  # Health checks of the load balancer come from its own addresses in the network.
  ingress {
    description = "Kubernetes API"
    from_port   = 6443
    to_port     = 6443
    protocol    = "tcp"
    cidr_blocks = distinct(concat([var.cidr], var.api_allowed_cidrs))
  }
  dynamic "ingress" {
    for_each = length(var.ssh_allowed_cidrs) > 0 ? [var.ssh_allowed_cidrs] : []
    content {
      description = "SSH"
      from_port   = 22
      to_port     = 22
      protocol    = "tcp"
      cidr_blocks = ingress.value
    }
  }
  dynamic "ingress" {
    for_each = [80, 443]
    content {
      description = "HTTP and HTTPS"
      from_port   = ingress.value
      to_port     = ingress.value
      protocol    = "tcp"
      cidr_blocks = ["0.0.0.0/0"]
    }
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}
