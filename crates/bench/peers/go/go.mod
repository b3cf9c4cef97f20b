module mely.example/peers

go 1.19
